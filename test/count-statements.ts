// Counts the statements of a database. `insertMany` and its like count as one.
//   const { state, counts } = countStatements(context.state)
import type { GroupWrite, State, StateReader, StateWriter } from '#storage/state.ts'
import { stateWith } from './authorization.ts'

export interface StatementCounts {
  transactions: number
  /** Inside and outside of transactions. */
  statements: number
  /** The beginning of each statement, with its number. */
  readonly byText: Map<string, number>
}

const textChars = 60

export function countStatements(state: State): { readonly state: State; readonly counts: StatementCounts } {
  const counts: StatementCounts = { transactions: 0, statements: 0, byText: new Map() }
  const count = (text: string) => {
    counts.statements += 1
    const start = text.replaceAll(/\s+/g, ' ').trim().slice(0, textChars)
    counts.byText.set(start, (counts.byText.get(start) ?? 0) + 1)
  }
  const countedReader = (reader: StateReader): StateReader => ({
    get: (sql, ...values) => {
      count(sql)
      return reader.get(sql, ...values)
    },
    all: (sql, ...values) => {
      count(sql)
      return reader.all(sql, ...values)
    },
  })
  const countedWriter = (tx: StateWriter): StateWriter => ({
    ...countedReader(tx),
    run: (sql, ...values) => {
      count(sql)
      return tx.run(sql, ...values)
    },
    insertMany: (...insert) => {
      if (insert[2].length > 0) count(`insertMany ${insert[0]}`)
      return tx.insertMany(...insert)
    },
    updateMany: (...update) => {
      if (update[3].length > 0) count(`updateMany ${update[0]}`)
      return tx.updateMany(...update)
    },
    deleteMany: (...deletion) => {
      if (deletion[2].length > 0) count(`deleteMany ${deletion[0]}`)
      return tx.deleteMany(...deletion)
    },
  })
  const groups = new Map<unknown, unknown>()
  const countedGroup = <Item, Result>(write: GroupWrite<Item, Result>): GroupWrite<Item, Result> =>
    groups.getOrInsertComputed(write, (): GroupWrite<Item, Result> => {
      return (tx, items) => {
        counts.transactions += 1
        return write(countedWriter(tx), items)
      }
    }) as GroupWrite<Item, Result>
  return {
    counts,
    state: stateWith(state, {
      ...countedReader(state),
      write: (work, options) => {
        counts.transactions += 1
        return state.write((tx) => work(countedWriter(tx)), options)
      },
      writeTogether: (write, item) => state.writeTogether(countedGroup(write), item),
    }),
  }
}
