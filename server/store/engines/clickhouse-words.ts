// From the port's SQL to ClickHouse's: values become literals, lists become external tables, and a table's name after `from` gets the
// condition that shows its committed rows alone. That one and those of the query become a `prewhere`: by them rows are found, by the primary
// key where that helps, before any other column is read. A subquery in the table's place would be read as a whole.
import { strict as assert } from 'node:assert'
import type { Cell, Lists } from '../facts.ts'
import type { Tables } from '../slices.ts'
import { literal } from './clickhouse-cells.ts'
import type { Ask, External } from './clickhouse-door.ts'

/** Quoted text, a placeholder, a column held against a list, the name of a list, or of a table to read. */
const marks = /'(?:[^']|'')*'|\?|\b(\w+) in \(select id from \{(\w+)\}\)|\{(\w+)\}|\bfrom (\w+)(?:\s+(where)\b)?/g

/** `shown`: the condition under which a row of the table counts. */
export function bind(
  sql: string,
  values: readonly Cell[],
  lists: Lists,
  tables: Tables,
  shown: (table: string) => string,
): Ask {
  const externals = new Map<string, External>()
  let used = 0
  const listed = (list: string, isNarrow: boolean) => {
    const ids = lists[list]
    assert(ids, `the list {${list}} of the query is missing`)
    const external = externalOf(list, ids, isNarrow)
    externals.set(external.name, external)
    return external.name
  }
  const replace = (mark: string, ...[column, members, list, table, where, at]: Found): string => {
    if (mark === '?') {
      const value = values[used++]
      assert(value !== undefined, `parameter ${used} of the query is missing`)
      return literal(value)
    }
    if (column !== undefined && members !== undefined)
      return `${column} in (select id from ${listed(members, isNarrow(tables, column))})`
    if (list !== undefined) return listed(list, false)
    if (table === undefined) return mark.replaceAll('\\', '\\\\')
    if (!tables.has(table)) return mark
    if (where !== undefined) refuseOr(sql.slice((at as number) + mark.length))
    return `from ${table} prewhere ${shown(table)}${where === undefined ? '' : ' and'}`
  }
  const text = sql.replaceAll(marks, replace as (mark: string) => string)
  assert(used === values.length, `the query has ${used} parameters, ${values.length} were given`)
  return { sql: text, externals: [...externals.values()] }
}

type Found = [column?: string, members?: string, list?: string, table?: string, where?: string, at?: number]

/** Up to where the conditions end; one more joins them with `and`. */
function refuseOr(rest: string): void {
  let depth = 0
  for (const [word] of rest.matchAll(/'(?:[^']|'')*'|[()]|\b(?:or|group|order|union|limit)\b/g)) {
    if (word === '(') depth += 1
    else if (word === ')') depth -= 1
    else if (depth === 0 && word === 'or') assert.fail('`or` between the conditions of a query needs parentheses')
    if (depth < 0 || (depth === 0 && /^[gul]|^order/.test(word))) return
  }
}

/** ClickHouse holds only numbers of one type against each other, and loses the primary key over a conversion. */
const isNarrow = (tables: Tables, column: string): boolean =>
  [...tables.values()].some(({ columns }) => columns[column] === 'int32')

function externalOf(list: string, ids: readonly number[], isNarrow: boolean): External {
  // What does not fit the column is not in it either.
  const fitting = isNarrow ? ids.filter((id) => id === (id | 0)) : ids
  return {
    name: `${list}_${isNarrow ? 'narrow' : 'wide'}`,
    structure: `id ${isNarrow ? 'Int32' : 'Int64'}`,
    lines: fitting.map((id) => `${id}\n`).join(''),
  }
}
