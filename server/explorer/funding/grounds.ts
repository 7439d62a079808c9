// On what a search has proven a funding, and which nodes have returned an incomplete list of trace_filter. Stored, so that
// all threads and servers know (behaviour/explorer.md#incomplete-lists).
//
// 1. A node is distrusted from its first incomplete list until the same list is complete.
// 2. When a node is distrusted, every ground that rests on its lists becomes void in the same transaction: what was proven
//    before it was noticed may be wrong. A void ground is never valid again. A search that ends later stores nothing on it
//    (fundings.ts).
// 3. Writes need the lock of the chain, so that a number is given once.
import type { StateReader, StateWriter } from '#storage/state.ts'

export interface Ground {
  /** How the first transfer was found. */
  readonly method: 'state' | 'trace_filter' | 'logs'
  /** Whether trace_filter was asked. `missing`: it would have been, but no node had it. */
  readonly lists: 'asked' | 'not needed' | 'missing'
  /** The names of the nodes that trace_filter was asked of, in order. */
  readonly nodes: readonly string[]
}

export interface DistrustedNode {
  readonly chain: string
  readonly node: string
  /** The address whose transfers were not all listed. */
  readonly address: string
  readonly reason: string
}

/** The number of a ground that is not void. */
export async function findOrPutGround(
  tx: StateWriter,
  chain: string,
  { method, lists, nodes }: Ground,
): Promise<number> {
  const values = [chain, method, lists, JSON.stringify(nodes)]
  const sql =
    'select ground from funding_grounds where chain = ? and method = ? and lists = ? and nodes = ? and is_void = 0'
  const known = await tx.get<{ ground: number }>(sql, ...values)
  if (known) return known.ground
  const last = await tx.get<{ ground: number }>(
    'select coalesce(max(ground), 0) as ground from funding_grounds where chain = ?',
    chain,
  )
  const ground = (last?.ground ?? 0) + 1
  const row = [ground, ...values]
  await tx.run('insert into funding_grounds (ground, chain, method, lists, nodes) values (?, ?, ?, ?, ?)', ...row)
  return ground
}

/** A node may have several, if searches ran at the same time. */
export const readDistrustedNodes = (reader: StateReader, chain: string): Promise<readonly DistrustedNode[]> =>
  reader.all('select chain, node, address, reason from distrusted_nodes where chain = ? order by node, address', chain)

/** Rule 2. */
export async function putDistrustedNode(
  tx: StateWriter,
  { chain, node, address, reason }: DistrustedNode,
  nowMs: number,
): Promise<void> {
  await tx.run(
    `insert into distrusted_nodes (chain, node, address, reason, at_ms) values (?, ?, ?, ?, ?)
     on conflict (chain, node, address) do nothing`,
    ...[chain, node, address, reason, nowMs],
  )
  const sql = 'select ground, nodes from funding_grounds where chain = ? and is_void = 0'
  for (const { ground, nodes } of await tx.all<{ ground: number; nodes: string }>(sql, chain))
    if ((JSON.parse(nodes) as string[]).includes(node))
      await tx.run('update funding_grounds set is_void = 1 where ground = ?', ground)
}

/** The list of this address is complete. */
export const removeDistrustedNode = (tx: StateWriter, { chain, node, address }: DistrustedNode): Promise<number> =>
  tx.run('delete from distrusted_nodes where chain = ? and node = ? and address = ?', chain, node, address)
