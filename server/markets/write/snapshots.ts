// Writes snapshots of records among their versions (read/record-after.ts has the rules).
import type { StateWriter } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'

/** Changes between two snapshots. A snapshot takes about a tenth of the space of these changes. */
export const snapshotEvery = 100

/** A record after the version `seq`. */
export interface Snapshot {
  readonly kind: KindName
  readonly id: string
  readonly seq: number
  readonly fields: string
  readonly links: string
}

export async function putSnapshots(tx: StateWriter, snapshots: readonly Snapshot[]): Promise<void> {
  const rows = snapshots.map(({ kind, id, seq, fields, links }) => [kind, id, seq, fields, links])
  const columns = ['kind', 'id', 'seq', 'fields', 'links']
  await tx.insertMany('market_snapshots', columns, rows, 'on conflict (kind, id, seq) do nothing')
}
