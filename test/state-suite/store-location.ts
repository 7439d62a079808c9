// An empty database for a test, with tables that the suite uses.
import type { Migration, State } from '#storage/state.ts'

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

export const insertCounter = 'insert into counters (name, value) values (?, ?)'

export const countCounters = async (state: State): Promise<number | undefined> =>
  (await state.get<{ n: number }>('select count(*) as n from counters'))?.n
