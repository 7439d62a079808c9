// Counts the units of work of a request: statements, rows that are read one by one, writes, queries on other threads,
// serialized replies and, in count-work.ts, requests to nodes. `onUnit` runs when a unit begins.
import type { App } from '#http/pipeline.ts'
import type { Duties } from '#storage/duties.ts'
import type { State, StateReader } from '#storage/state.ts'
import { stateWith } from './authorization.ts'

export class UnitCounter {
  count = 0
  onUnit: (count: number) => void = () => {}

  begin(): void {
    this.count += 1
    this.onUnit(this.count)
  }

  reader(reader: StateReader): StateReader {
    return {
      get: (sql, ...values) => {
        this.begin()
        return reader.get(sql, ...values)
      },
      all: (sql, ...values) => {
        this.begin()
        return reader.all(sql, ...values)
      },
    }
  }

  state(state: State): State {
    const begin = () => this.begin()
    return stateWith(state, {
      ...this.reader(state),
      recent: {
        ...this.reader(state.recent),
        snapshot: (isRecent, work, signal) =>
          state.recent.snapshot(isRecent, (reader) => work(this.reader(reader)), signal),
      },
      snapshot: (work, signal) => state.snapshot((reader) => work(this.reader(reader)), signal),
      async *each<R>(sql: string, ...values: Parameters<State['each']>[1][]) {
        for await (const row of state.each<R>(sql, ...values)) {
          begin()
          yield row
        }
      },
      write: (work, options) => {
        begin()
        return state.write(work, options)
      },
      writeTogether: (write, item) => {
        begin()
        return state.writeTogether(write, item)
      },
    })
  }

  duties(duties: Duties): Duties {
    return {
      ...this.reader(duties),
      engine: duties.engine,
      version: () => duties.version(),
      query: (name, input, signal) => {
        this.begin()
        return duties.query(name, input, signal)
      },
      update: (name, input, options) => {
        this.begin()
        return duties.update(name, input, options)
      },
      close: () => duties.close(),
    }
  }

  /** Counts what the app serializes. */
  serializers(app: App): App {
    const compiled = [...app.compiled].map(([handler, parts]) => {
      const serialize = (body: unknown) => {
        this.begin()
        return parts.serialize(body)
      }
      return [handler, { ...parts, serialize }] as const
    })
    return { ...app, compiled: new Map(compiled) }
  }
}
