// Compares the tables that whole-system runs have read from their sources with those of a clean server.
import assert from 'node:assert/strict'
import { databases } from '#storage/backup.ts'
import type { Stores } from '#storage/open.ts'
import { listDocuments } from './market-documents.ts'

/**
 * Tables that are read from the sources, without the columns that depend on when they were read. Missed duties are
 * compared by responses, because their order in a row depends on how many epochs were written together.
 */
const comparedTables: Readonly<Record<(typeof databases)[number], Readonly<Record<string, string>>>> = {
  state: {
    fx_latest: `source, base, quote, at_ms, rate`,
  },
  ingest: {
    fundings: '*',
    unfinalized_fundings: '*',
    unfinalized_blocks: '*',
    validators: '*',
    market_records: 'kind, id, slug, title, fields, links, extra_fields, vanished_ms',
    market_links: '*',
    market_search: '*',
    market_words: '*',
    market_list: '*',
    epoch_gaps: '*',
    market_rejects: '*',
  },
  duties: {
    duty_hours: '*',
    duty_days: '*',
    duty_short_spans: '*',
    duty_long_spans: '*',
    duty_presence: '*',
    duty_units: '*',
    duty_summaries: '*',
    coverage: '*',
    duty_networks: '*',
    unexplained_balance_changes: '*',
  },
}

/** The stores may be of different engines. */
export async function assertSameTables(actual: Stores, expected: Stores): Promise<void> {
  for (const store of databases)
    for (const [table, columns] of Object.entries(comparedTables[store])) {
      // Rates that a test pushes are not read from a source.
      const where = table === 'fx_latest' ? `where source <> 'desk'` : ''
      const rowsOf = async (stores: Stores) =>
        (await stores[store].all(`select ${columns} from ${table} ${where}`)).map(rowText).sort()
      assert.equal(describeDifference(table, await rowsOf(actual), await rowsOf(expected)), undefined)
    }
  // Fast values are packed, so they are compared in documents.
  const etagsOf = async ({ ingest }: Stores) => (await listDocuments(ingest)).map(({ id, etag }) => `${id} ${etag}`)
  assert.equal(describeDifference('markets', await etagsOf(actual), await etagsOf(expected)), undefined)
}

/** The columns of two engines may have another order. */
const rowText = (row: object): string =>
  JSON.stringify(Object.entries(row).sort(), (_, value) =>
    value instanceof Uint8Array || value?.type === 'Buffer' ? Buffer.from(value).toString('hex') : value,
  )

/** Undefined: the rows are equal. */
function describeDifference(table: string, actual: readonly string[], expected: readonly string[]): string | undefined {
  const [expectedSet, actualSet] = [new Set(expected), new Set(actual)]
  const more = actual.filter((row) => !expectedSet.has(row))
  const missing = expected.filter((row) => !actualSet.has(row))
  if (more.length === 0 && missing.length === 0) return undefined
  const some = (rows: readonly string[]) =>
    rows
      .slice(0, 3)
      .map((row) => row.slice(0, 400))
      .join('\n    ')
  return `${table}: ${more.length} rows that a clean run does not have:\n    ${some(more)}\n  and ${missing.length} that it has:\n    ${some(missing)}`
}
