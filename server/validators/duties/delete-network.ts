// Deletes what the duties database has of a network.
import type { Network } from '#api/contract/wire/networks.ts'
import type { StateWriter } from '#storage/state.ts'
import { levels, missedLevel, networkId, networkIds, presenceLevel } from './layout.ts'

/** Tables without packed rows. The one with the name of the network comes last. */
export const plainDutyTables = [
  ...['duty_units', 'duty_summaries', 'duty_summary_days', 'network_rows', 'duty_changes'],
  ...['unexplained_balance_changes', 'watch_ranges', 'duty_networks'],
] as const

const packedLevels = [...Object.values(levels), missedLevel, presenceLevel]

/** In one transaction. Returns the number of rows. */
export async function deleteNetwork(tx: StateWriter, { network }: { readonly network: Network }): Promise<number> {
  const id = networkId(network)
  let rows = await deleteStreams(tx, network)
  for (const level of packedLevels) {
    const { from, until } = networkIds(level, id)
    rows += await tx.run(`delete from ${level.table} where id >= ? and id < ?`, from, until)
  }
  for (const table of plainDutyTables) rows += await tx.run(`delete from ${table} where network = ?`, id)
  return rows
}

/** Coverage and cursors. */
export async function deleteStreams(tx: StateWriter, network: Network): Promise<number> {
  let rows = 0
  for (const table of ['coverage', 'cursors']) {
    const streams = await tx.all<{ stream: string }>(`select distinct stream from ${table}`)
    for (const { stream } of streams)
      if (networkOfStream(stream) === network) rows += await tx.run(`delete from ${table} where stream = ?`, stream)
  }
  return rows
}

const streamKinds = ['duties', 'hours', 'missed', 'alerts', 'programmes', 'deposits', 'entities']

/** Streams are called `KIND/NETWORK` or `KIND/NETWORK/…`, those of the mirror `mirror/clickhouse/TABLE/NETWORK/…`. */
function networkOfStream(stream: string): string | undefined {
  const [kind = '', second, , fourth] = stream.split('/')
  if (kind === 'mirror') return fourth
  return streamKinds.includes(kind) ? second : undefined
}
