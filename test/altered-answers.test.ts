// Alters one response of a beacon node at a random place. Ingest may ignore it, retry, or reject it with a reason.
// After the node has recovered and more epochs are final, the responses of group C equal those of a run without the
// alteration.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SimulatedBeaconNode } from '#simulator/beacon/node.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { type Alteration, openAlteringProxy, type ProxiedResponse } from './altering-proxy.ts'
import {
  type Answers,
  assertSameAnswers,
  catchUp,
  collectAnswers,
  nodeForms,
  openOracleNode,
  oracleFinalized,
  oracleSettings,
  oracleWorld,
} from './ingest-oracle.ts'
import { seedsOf } from './long.ts'
import { openQuietServer } from './quiet-server.ts'

const seedsCount = 600
const seedsPerRun = 2

type Container = Record<string, unknown>

/** Every value in a JSON document, as its container and its key there. */
function membersIn(value: unknown, members: [Container, string][] = []): [Container, string][] {
  if (typeof value !== 'object' || value === null) return members
  for (const name of Object.keys(value)) {
    members.push([value as Container, name])
    membersIn((value as Container)[name], members)
  }
  return members
}

function alteredText(draws: SeededRandom, text: string): string {
  const at = draws.whole(text.startsWith('0x') ? 2 : 0, text.length)
  const digits = text.startsWith('0x') ? '0123456789abcdef' : '0123456789'
  const others = [...digits].filter((digit) => digit !== text[at])
  return text.slice(0, at) + draws.pick(others) + text.slice(at + 1)
}

function alteredValue(draws: SeededRandom, value: unknown): unknown {
  if (Array.isArray(value)) return draws.pick([value.slice(1), value.slice(0, -1), [...value, ...value.slice(-1)], []])
  if (typeof value === 'string' && value.length > 0) return alteredText(draws, value)
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  return draws.pick([null, '0', {}])
}

function alteredJson(draws: SeededRandom, body: Buffer): Buffer {
  const document: unknown = JSON.parse(body.toString())
  const [container, name] = draws.pick(membersIn(document))
  if (draws.happens(0.15)) delete container[name]
  else container[name] = alteredValue(draws, container[name])
  return Buffer.from(JSON.stringify(document))
}

function alteredBytes(draws: SeededRandom, body: Buffer): Buffer {
  const at = draws.whole(0, body.length)
  if (draws.happens(0.1)) return body.subarray(0, at)
  const altered = Buffer.from(body)
  altered[at] = (altered[at] as number) ^ (1 << draws.whole(0, 8))
  return altered
}

const alteredBody = (draws: SeededRandom, { type, body }: ProxiedResponse): Buffer =>
  type.includes('json') && !draws.happens(0.05) ? alteredJson(draws, body) : alteredBytes(draws, body)

const { blocks } = oracleWorld()

/** The proposer of an empty slot is not verified (docs/methodology.md, "What is verified"). */
function isOnlyEmptySlots({ path, body }: ProxiedResponse, altered: Buffer): boolean {
  if (!path.includes('/duties/proposer/')) return false
  const ofBlocks = (text: string) =>
    JSON.stringify((JSON.parse(text) as Duties).data.filter(({ slot }) => blocks.has(Number(slot))))
  try {
    return ofBlocks(body.toString()) === ofBlocks(altered.toString())
  } catch {
    return false
  }
}

interface Duties {
  readonly data: readonly { readonly slot: string }[]
}

describe('one altered response of a beacon node', () => {
  const forms: { readonly node: SimulatedBeaconNode; readonly requests: number }[] = []
  let clean: Answers
  let finalized = oracleFinalized

  before(async () => {
    for (const options of nodeForms) {
      const node = await openOracleNode({ ...options, finalized: () => finalized })
      await using server = await openQuietServer({ settings: oracleSettings(node.url) })
      const before = node.requestCount()
      finalized = oracleFinalized - 2
      await catchUp(server.context, node.url)
      forms.push({ node, requests: node.requestCount() - before })
      finalized = oracleFinalized
      await catchUp(server.context, node.url)
      const answers = await collectAnswers(server)
      clean ??= answers
      assertSameAnswers(answers, clean, 'same responses in another format')
    }
  })
  after(() => Promise.all(forms.map(({ node }) => node[Symbol.asyncDispose]())))

  for (const seed of seedsOf(seedsCount, seedsPerRun)) {
    test(`seed ${seed}: after the node has recovered, responses equal those of a clean run`, async (t) => {
      const draws = createSeededRandom(`altered/${seed}`)
      const { node, requests } = draws.pick(forms)
      const alterAt = draws.whole(0, requests)
      let count = 0
      let path = 'none'
      const alteration: Alteration = (response) => {
        if (count++ !== alterAt) return undefined
        const altered = alteredBody(draws, response)
        if (isOnlyEmptySlots(response, altered)) return undefined
        path = response.path
        return altered
      }
      await using proxy = await openAlteringProxy(node.url)
      await using server = await openQuietServer({ settings: oracleSettings(proxy.url) })
      proxy.alter(alteration)
      finalized = oracleFinalized - 2
      const failure = await catchUp(server.context, proxy.url).then(
        () => undefined,
        (error: Error) => error,
      )
      proxy.alter()
      finalized = oracleFinalized
      t.diagnostic(`${path}: ${failure ? `rejected: ${failure.message}` : 'accepted'}`)
      if (failure) assert.match(failure.name, /^(BeaconError|ContradictionError)$/, String(failure.stack))
      await catchUp(server.context, proxy.url)
      assertSameAnswers(await collectAnswers(server), clean, `altered: ${path}`)
    })
  }
})
