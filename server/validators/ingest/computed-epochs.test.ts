// Recorded chains whose states are computed from blocks lead to the same rows as the states of their nodes.
import assert from 'node:assert/strict'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { headerRoot } from '#sources/beacon/block-type.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { exchangesOf, openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { outsideRecording, skipWithoutRecording } from '#test/recorded-chain.ts'
import { storedRows } from '#test/stored-duties.ts'
import type { Signatures } from '../chain/messages.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { createComputedProcessor } from './epochs/computed-processor.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'

interface Recording extends ReplayOptions {
  readonly recording: string
  readonly name: string
  readonly signatures: Signatures
  readonly skip: string | false
}

const lodestar = (name: string): Recording => ({
  ...{ name: `lodestar/${name}`, recording: `lodestar/${name}`, signatures: 'none', skip: false },
})

const recordings: readonly Recording[] = [
  ...['deneb-to-electra', 'electra', 'electra-to-fulu', 'electra-upgrade', 'fulu', 'leak'].map(lodestar),
  {
    ...{ name: 'gloas', recording: outsideRecording('gloas'), more: ['debug-states'], signatures: 'all' },
    skip: skipWithoutRecording('gloas'),
  },
]

const beaconOf = (url: string) =>
  openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })

/** Most recordings lack the newest header. Only its slot is used. */
function withHead(recording: string): NonNullable<ReplayOptions['meddle']> {
  const slots = exchangesOf(`${recording}/exchanges.ndjson`).flatMap(({ path, status }) =>
    status === 200 ? (/^\/eth\/v2\/beacon\/blocks\/(\d+)$/.exec(path)?.slice(1).map(Number) ?? []) : [],
  )
  const root = `0x${'00'.repeat(32)}`
  const message = {
    ...{ slot: String(Math.max(...slots)), proposer_index: '0' },
    ...{ parent_root: root, state_root: root, body_root: root },
  }
  const body = JSON.stringify({ data: { root: headerRoot(message), canonical: true, header: { message } } })
  return (exchange) =>
    exchange.path === '/eth/v1/beacon/headers/head'
      ? { ...exchange, status: 200, bodyEncoding: 'utf8', body }
      : exchange
}

const contextFor = async (url: string): Promise<TestContext> => {
  const beacon = { urls: [url], fromEpoch: 0 }
  const context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon } } },
  })
  return Object.assign(context, { settings: await withChainTimes({ ...context, clock: systemClock }) })
}

const everything = async (context: TestContext) => ({
  covered: await coveredEpochs(context.duties, 'hoodi'),
  hours: await storedRows(context, 'hoodi', 'hours'),
  validators: await context.ingest.all('select * from validators order by validator_index'),
})

const { signal } = new AbortController()

for (const { name, skip, signatures, ...replay } of recordings)
  test(`computed states lead to the rows of the states of the node: ${name}`, { skip }, async () => {
    await using node = await openReplay({ ...replay, meddle: withHead(replay.recording) })
    await using expected = await contextFor(node.url)
    await new Follower(expected, 'hoodi', beaconOf(node.url)).catchUp(signal)
    const before = node.requests.length
    await using context = await contextFor(node.url)
    await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-states-'))
    const options = { clock: systemClock, folder: folder.path, signatures, snapshotEvery: 4 } as const
    await using processor = createComputedProcessor(beaconOf(node.url), options)
    await new Follower(context, 'hoodi', processor).catchUp(signal)
    assert.deepEqual(await everything(context), await everything(expected))
    const states = node.requests.slice(before).filter((request) => request.includes('/debug/beacon/states/'))
    // By its root, which is not recorded, and by its slot.
    assert(states.length <= 2, states.join(', '))
  })
