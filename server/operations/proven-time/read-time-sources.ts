// Reads which time the sources of this server have reached. A reading is a lower bound: the source may be ahead of it by
// now. keep-proven-time.ts judges them.
//
// 1. What may use the clock of this machine does not count: sources and databases on it, files, pushed rates, and rates
//    that count from their receipt. Final blocks count wherever their node runs, because the validators of a chain accept
//    no block from the future.
// 2. What comes from one host is one source.

import type { Network } from '#api/contract/wire/validators.ts'
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { findNode } from '#explorer/nodes.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import { readRemoteTime } from '#sources/remote-time.ts'
import { coverageOf } from '#storage/coverage.ts'
import { dutiesStream } from '#validators/duties/coverage.ts'

export interface TimeReading {
  readonly source: string
  readonly atMs: number
}

export type TimeSourceContext = Pick<
  AppContext,
  'state' | 'ingest' | 'duties' | 'settings' | 'clock' | 'provenTime' | 'random' | 'log' | 'explorer'
>

const timeoutMs = 5000
/** Two are enough. Of a longer list, the first are asked. */
const hostsMax = 8
const chainsMax = 8

/** Sources that do not respond, and those that have no time, are left out. */
export async function readTimeSources(context: TimeSourceContext): Promise<readonly TimeReading[]> {
  const { explorer, fx, markets } = context.settings
  const remote = [...fx.sources, ...markets.feeds].flatMap(({ url }) => (url === undefined ? [] : [url]))
  const hosts = new Map(remote.map((url) => [hostOf(url), url]))
  const readings = await Promise.allSettled([
    ...explorer.chains.slice(0, chainsMax).map(({ id }) => readChainTime(context, id)),
    ...networksOf(context.settings).map((network) => readNetworkTime(context, network)),
    ...fx.sources.map((source) => readRateTime(context, source)),
    ...[...hosts.values()].slice(0, hostsMax).map(readHostTime),
    readDatabaseTime(context),
  ])
  return readings.flatMap((reading) => (reading.status === 'fulfilled' && reading.value ? [reading.value] : []))
}

type Reading = Promise<TimeReading | undefined>

async function readChainTime(context: TimeSourceContext, id: string): Reading {
  const node = findNode(context, id)
  const tip = await node?.tip({ untilMs: context.clock.monotonicMs() + timeoutMs, attemptsMax: 1 })
  return tip?.final && { source: `chain ${id}`, atMs: tip.final.timeUnix * 1000 }
}

/** Stored epochs are final, and their blocks have valid signatures. */
async function readNetworkTime({ duties, settings }: TimeSourceContext, network: Network): Reading {
  const last = (await coverageOf(duties, dutiesStream(network))).at(-1)
  return (
    last && {
      source: `network ${network}`,
      atMs: epochStartMs(networkSettings(settings, network), last.until as Epoch),
    }
  )
}

async function readRateTime({ state }: TimeSourceContext, { id, url, kind, document }: FxSource): Reading {
  const hasOwnTime = kind !== 'push' && document.times !== 'received'
  if (url === undefined || !hasOwnTime || isThisMachine(url)) return undefined
  const sql = 'select max(at_ms) as "atMs" from fx_latest where source = ?'
  const row = await state.get<{ atMs: number | null }>(sql, id)
  return row?.atMs ? { source: hostOf(url), atMs: row.atMs } : undefined
}

async function readHostTime(url: string): Reading {
  const atMs = isThisMachine(url) ? undefined : await readRemoteTime(url, timeoutMs)
  return atMs === undefined ? undefined : { source: hostOf(url), atMs }
}

async function readDatabaseTime({ state, settings }: TimeSourceContext): Reading {
  if (state.engine !== 'postgres' || isThisMachine(settings.store.state)) return undefined
  const row = await state.get<{ atMs: number }>('select (extract(epoch from now()) * 1000)::bigint as "atMs"')
  return row && { source: 'database', atMs: row.atMs }
}

const hostOf = (url: string): string => URL.parse(url)?.hostname ?? ''

/** A URL of PostgreSQL with several hosts, or with a socket, cannot be parsed. */
const isThisMachine = (url: string): boolean => /^(|localhost|127\..*|\[::1\])$/.test(hostOf(url))
