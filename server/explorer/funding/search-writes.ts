// What searches write. On SQLite, the thread of the ingesters does it, because it writes `ingest.sqlite`
// (background/start-ingest.ts).
import type { ExplorerContext } from '#explorer/context.ts'
import type { State } from '#storage/state.ts'
import { type Funding, putProven } from './fundings.ts'
import { type DistrustedNode, type Ground, putDistrustedNode, removeDistrustedNode } from './grounds.ts'

type WriteContext = { readonly ingest: State; readonly clock: ExplorerContext['clock'] }

export const searchWrites = {
  putProven: ({ ingest }: WriteContext, { funding, ground }: { readonly funding: Funding; readonly ground: Ground }) =>
    ingest.write((tx) => putProven(tx, funding, ground), { lock: `chain:${funding.chain}` }),
  putDistrusted: ({ ingest, clock }: WriteContext, row: DistrustedNode) =>
    ingest.write((tx) => putDistrustedNode(tx, row, clock.now()), { lock: `chain:${row.chain}` }),
  removeDistrusted: ({ ingest }: WriteContext, row: DistrustedNode) =>
    ingest.write((tx) => removeDistrustedNode(tx, row), { lock: `chain:${row.chain}` }),
} as const

type SearchWrites = typeof searchWrites
export type SearchWriteName = keyof SearchWrites
type InputOf<Name extends SearchWriteName> = Parameters<SearchWrites[Name]>[1]
type ResultOf<Name extends SearchWriteName> = Awaited<ReturnType<SearchWrites[Name]>>

export const searchWriteNames = Object.keys(searchWrites) as readonly SearchWriteName[]

/** Runs a write on another thread. */
export type CallSearchWrite = (name: SearchWriteName, input: unknown) => Promise<unknown>

export const runSearchWrite = async <Name extends SearchWriteName>(
  context: Pick<ExplorerContext, 'ingest' | 'clock' | 'explorer'>,
  name: Name,
  input: InputOf<Name>,
): Promise<ResultOf<Name>> => {
  const { writeOnThread } = context.explorer
  if (writeOnThread) return (await writeOnThread(name, input)) as ResultOf<Name>
  const write = searchWrites[name] as (context: WriteContext, input: InputOf<Name>) => Promise<unknown>
  return (await write(context, input)) as ResultOf<Name>
}
