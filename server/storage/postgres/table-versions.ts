// Computes `version` of the groups of tables (storage/state.ts, rule 3) from the commits of all processes.
//
// 1. Each transaction writes its number to `state_commits`, in the rows of its writer and of the groups that it changed. A
//    row with another number than before is a change. The numbers of a writer only grow, and are never used twice, so a
//    failover to a server that lacks commits cannot hide one.
// 2. Commits of this process are known before they are read from the table.
import type { TableGroup } from '../table-groups.ts'
import type { CommitRow } from './commit-tables.ts'

export class TableVersions {
  /** By writer and group: the number in the rows that were read last. */
  #readNumbers = new Map<string, number>()
  /** By writer and group: the number of the last commit of this process. */
  readonly #ownNumbers = new Map<string, number>()
  readonly #versions = new Map<TableGroup, number>()
  #version = 0

  /** Of a group of tables, or of all of them. */
  version(group?: TableGroup): number {
    if (group === undefined) return this.#version
    return Math.max(this.#versions.get(group) ?? 0, this.#versions.get('other') ?? 0)
  }

  /** Returns whether anything has changed since the last rows. `mayHaveMissed`: everything may have changed. */
  compare(rows: readonly CommitRow[], mayHaveMissed: boolean): boolean {
    const changed = new Set<TableGroup>(mayHaveMissed ? ['other'] : [])
    const readNumbers = new Map<string, number>()
    for (const { writer, group_name: group, number } of rows) {
      if (writer === null) continue
      const key = keyOf(writer, group)
      readNumbers.set(key, number)
      const ownNumber = this.#ownNumbers.get(key)
      // What this process has committed since the query began is newer than its result.
      const isNew = ownNumber === undefined ? number !== this.#readNumbers.get(key) : number > ownNumber
      if (isNew) changed.add(group as TableGroup)
    }
    this.#readNumbers = readNumbers
    if (changed.size > 0) this.#advance(changed)
    return changed.size > 0
  }

  noteOwnCommit(writer: string, groups: Iterable<TableGroup>, number: number): void {
    for (const group of groups) this.#ownNumbers.set(keyOf(writer, group), number)
    this.#advance(groups)
  }

  #advance(changed: Iterable<TableGroup>): void {
    this.#version += 1
    for (const group of changed) this.#versions.set(group, this.#version)
  }
}

const keyOf = (writer: string, group: string): string => `${writer} ${group}`
