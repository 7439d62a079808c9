// An empty database for a test, with tables that the suite uses.
import type { GroupWrite, Migration, State, StateWriter } from '#storage/state.ts'

/** An empty database for one test. Opening it twice simulates two processes. */
export interface StoreLocation extends AsyncDisposable {
  open(migrations?: readonly Migration[]): Promise<State>
}

export type CreateLocation = () => Promise<StoreLocation>

export const tables: Migration = {
  id: 1,
  name: 'tables',
  up: ({ bytes, strict, clustered }) => [
    `create table counters (name text primary key, value bigint not null) ${clustered}`,
    `create table things (id bigint primary key, words text, raw ${bytes}) ${strict}`,
    `create table parts (thing bigint not null references things (id)) ${strict}`,
  ],
}

type Work = (tx: StateWriter) => Promise<unknown>

const runEach: GroupWrite<Work, unknown> = async (tx, works) => {
  const results: unknown[] = []
  for (const work of works) results.push(await work(tx))
  return results
}

/** Any work as an item of a group. */
export const writeInGroup = <T>(state: State, work: (tx: StateWriter) => Promise<T>): Promise<T> =>
  state.writeTogether<Work, unknown>(runEach, work) as Promise<T>

export const insertCounter = 'insert into counters (name, value) values (?, ?)'

export const countCounters = async (state: State): Promise<number | undefined> =>
  (await state.get<{ n: number }>('select count(*) as n from counters'))?.n
