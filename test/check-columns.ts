// Checks in tests that code reads only columns that its query returns. The types of rows are declared where a query is
// called, and nothing else compares them with its SQL: a misspelt column would be undefined.
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { stateWith } from './authorization.ts'

/** What the runtime and assertions ask of any object. */
const askedOfAll = new Set(['then', 'toJSON', 'constructor', 'asymmetricMatch', 'inspect'])

/** Rows that throw if a column is read that they do not have. */
export function checkColumns(state: State): State {
  const checkedRow = <R>(sql: string, row: R): R =>
    new Proxy(row as object, {
      get(target, name, receiver) {
        if (typeof name === 'string' && !(name in target) && !askedOfAll.has(name))
          throw new Error(`the column ${name} is read, but not returned by: ${sql.replaceAll(/\s+/g, ' ')}`)
        return Reflect.get(target, name, receiver)
      },
    }) as R
  const reader = (unchecked: StateReader): StateReader => ({
    get: async <R>(sql: string, ...values: Parameters<StateReader['get']>[1][]) => {
      const row = await unchecked.get<R>(sql, ...values)
      return row && checkedRow(sql, row)
    },
    all: async <R>(sql: string, ...values: Parameters<StateReader['all']>[1][]) =>
      (await unchecked.all<R>(sql, ...values)).map((row) => checkedRow(sql, row)),
  })
  const writer = (tx: StateWriter): StateWriter => ({ ...tx, ...reader(tx) })
  return stateWith(state, {
    ...reader(state),
    write: (work, options) => state.write((tx) => work(writer(tx)), options),
    snapshot: (work, signal) => state.snapshot((snapshot) => work(reader(snapshot)), signal),
    async *each<R>(sql: string, ...values: Parameters<State['each']>[1][]) {
      for await (const row of state.each<R>(sql, ...values)) yield checkedRow(sql, row)
    },
  })
}
