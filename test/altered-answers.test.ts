// One answer of a beacon node is altered at a random place, in transit or by the node. Ingest may not notice, read it again, or refuse
// it and report why. When the node is well again and more epochs have become final, the answers of group C are those of a run without
// the alteration.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SimBeaconNode } from '#simulator/beacon/node.ts'
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

/** Every value in a JSON document, as the container that holds it and its name there. */
function placesIn(value: unknown, found: [Container, string][] = []): [Container, string][] {
  if (typeof value !== 'object' || value === null) return found
  for (const name of Object.keys(value)) {
    found.push([value as Container, name])
    placesIn((value as Container)[name], found)
  }
  return found
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
  const [container, name] = draws.pick(placesIn(document))
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

/** Who should have proposed in an empty slot is not verified (docs/methodology.md, "What is verified"). */
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

describe('one altered answer of a beacon node', () => {
  const forms: { readonly node: SimBeaconNode; readonly asked: number }[] = []
  let clean: Answers
  let finalized = oracleFinalized

  before(async () => {
    for (const habits of nodeForms) {
      const node = await openOracleNode({ ...habits, finalized: () => finalized })
      await using server = await openQuietServer({ settings: oracleSettings(node.url) })
      const asked = node.requestCount()
      finalized = oracleFinalized - 2
      await catchUp(server.context, node.url)
      forms.push({ node, asked: node.requestCount() - asked })
      finalized = oracleFinalized
      await catchUp(server.context, node.url)
      const answers = await collectAnswers(server)
      clean ??= answers
      assertSameAnswers(answers, clean, 'another form of the same answers')
    }
  })
  after(() => Promise.all(forms.map(({ node }) => node[Symbol.asyncDispose]())))

  for (const seed of seedsOf(seedsCount, seedsPerRun)) {
    test(`seed ${seed}: the answers are those of a clean run when the node is well again`, async (t) => {
      const draws = createSeededRandom(`altered/${seed}`)
      const { node, asked } = draws.pick(forms)
      const alterAt = draws.whole(0, asked)
      let answered = 0
      let path = 'none'
      const alteration: Alteration = (answer) => {
        if (answered++ !== alterAt) return undefined
        const altered = alteredBody(draws, answer)
        if (isOnlyEmptySlots(answer, altered)) return undefined
        path = answer.path
        return altered
      }
      await using proxy = await openAlteringProxy(node.url)
      await using server = await openQuietServer({ settings: oracleSettings(proxy.url) })
      proxy.alter(alteration)
      finalized = oracleFinalized - 2
      const refused = await catchUp(server.context, proxy.url).then(
        () => undefined,
        (error: Error) => error,
      )
      proxy.alter()
      finalized = oracleFinalized
      t.diagnostic(`${path}: ${refused ? `refused: ${refused.message}` : 'accepted'}`)
      if (refused) assert.match(refused.name, /^(BeaconError|ContradictionError)$/, String(refused.stack))
      await catchUp(server.context, proxy.url)
      assertSameAnswers(await collectAnswers(server), clean, `altered: ${path}`)
    })
  }
})
