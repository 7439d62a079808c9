// The blocks and states of recorded chains as SSZ, for tests of the chain process.
import { headerRoot } from '#sources/beacon/block-type.ts'
import type { ChainStart } from '#validators/chain/messages.ts'
import { exchangesOf, type ReplayOptions, unpackRecording } from './beacon-replay.ts'

interface Answer {
  readonly path: string
  readonly status: number
  readonly accept: string
  readonly bodyEncoding: 'utf8' | 'base64'
  readonly body: string
}

export interface RecordedChain {
  readonly start: ChainStart
  /** By slot, ascending. */
  readonly blocks: ReadonlyMap<number, Uint8Array>
  /** By slot, ascending. */
  readonly states: ReadonlyMap<number, Uint8Array>
}

/** `files`: in the folder of recordings, without `.zst`. */
export function readRecordedChain(files: readonly string[]): RecordedChain {
  const answers = files.flatMap((file) =>
    unpackRecording(file)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer),
  )
  const dataAt = (path: string) => {
    const found = answers.find((answer) => answer.path === path && answer.status === 200)
    if (!found) throw new Error(`${files[0]} has no ${path}`)
    return (JSON.parse(found.body) as { data: Record<string, unknown> }).data
  }
  const bytesBySlot = (path: RegExp) => {
    const found = answers.flatMap((answer) => {
      const slot = path.exec(answer.path)?.[1]
      return slot !== undefined && answer.status === 200 && answer.bodyEncoding === 'base64'
        ? [[Number(slot), Buffer.from(answer.body, 'base64')] as const]
        : []
    })
    return new Map(found.sort(([one], [other]) => one - other))
  }
  return {
    start: {
      spec: dataAt('/eth/v1/config/spec'),
      genesisValidatorsRoot: String(dataAt('/eth/v1/beacon/genesis').genesis_validators_root),
      engine: 'typescript',
    },
    blocks: bytesBySlot(/^\/eth\/v2\/beacon\/blocks\/(\d+)$/),
    states: bytesBySlot(/^\/eth\/v2\/debug\/beacon\/states\/(\d+)$/),
  }
}

/** Most recordings lack the newest header, of which only the slot is used. `slot`: the newest block that is shown. */
export function withHead(recording: string, slot?: number, finalized?: number): NonNullable<ReplayOptions['meddle']> {
  const slots = exchangesOf(`${recording}/exchanges.ndjson`).flatMap(({ path, status }) =>
    status === 200 ? (slotOfBlock.exec(path)?.slice(1).map(Number) ?? []) : [],
  )
  const head = slot ?? Math.max(...slots)
  const root = `0x${'00'.repeat(32)}`
  const message = {
    ...{ slot: String(head), proposer_index: '0' },
    ...{ parent_root: root, state_root: root, body_root: root },
  }
  const checkpoint = { epoch: String(finalized), root }
  const bodies: Readonly<Record<string, unknown>> = {
    '/eth/v1/beacon/headers/head': { root: headerRoot(message), canonical: true, header: { message } },
    ...(finalized !== undefined && {
      '/eth/v1/beacon/states/head/finality_checkpoints': { finalized: checkpoint },
    }),
  }
  return (exchange) => {
    const data = bodies[exchange.path]
    if (data) return { ...exchange, status: 200, bodyEncoding: 'utf8', headers: {}, body: JSON.stringify({ data }) }
    const isLater = Number(slotOfBlock.exec(exchange.path)?.[1] ?? 0) > head
    return isLater ? { ...exchange, status: 404, bodyEncoding: 'utf8', headers: {}, body: '{}' } : exchange
  }
}

export const slotOfBlock = /^\/eth\/v2\/beacon\/blocks\/(\d+)$/

/** What a node answers that has one state, and no other endpoint than computed states need. */
const blocksOnly =
  /^\/eth\/v\d\/(beacon\/(blocks|headers|genesis)|config\/spec|node\/(version|syncing)|beacon\/states\/head\/finality_checkpoints)/

export const withOneState =
  (slot: number): NonNullable<ReplayOptions['meddle']> =>
  (exchange) =>
    blocksOnly.test(exchange.path) || exchange.path === `/eth/v2/debug/beacon/states/${slot}`
      ? exchange
      : { ...exchange, status: 404, bodyEncoding: 'utf8', headers: {}, body: '{}' }

export const isStateRequest = (request: string): boolean => request.includes('/debug/beacon/states/')
