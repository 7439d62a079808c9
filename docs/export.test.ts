// The page about exports describes every column, and its example is answered with the exported columns.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { type ColumnType, type DatasetName, datasetColumns } from '#operations/export/dataset.ts'
import { noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { copyDemo } from '#test/template.ts'

let page = ''
before(async () => {
  page = await readFile(join(import.meta.dirname, 'export.md'), 'utf8')
})

const typeNames: Readonly<Record<ColumnType, string>> = {
  ...{ text: 'text', json: 'text', boolean: 'boolean', time: 'time', date: 'date' },
  ...{ int32: 'integer', int64: 'integer' },
}

/** The columns of a dataset in its table; `…` stands for all columns between its neighbours. */
function describedColumns(name: DatasetName): { name: string; type: string }[] {
  const [, section = ''] = new RegExp(`^### ${name}\n(.*?)^##`, 'ms').exec(page) ?? []
  const columns = datasetColumns[name].map((column) => column.name)
  return [...section.matchAll(/^\| (`.+?) \| (.+?) \|/gm)].flatMap(([, cell = '', types = '']) => {
    const names = [...cell.matchAll(/`(\w+)`/g)].map(([, text = '']) => text)
    const [first = '', last = ''] = [names[0], names.at(-1)]
    const all = cell.includes('…') ? columns.slice(columns.indexOf(first), columns.indexOf(last) + 1) : names
    const each = types.split(', ')
    return all.map((column, at) => ({ name: column, type: each[at] ?? types }))
  })
}

describe('columns', () => {
  for (const [name, columns] of Object.entries(datasetColumns))
    test(`those of ${name} are described with their types, in their order`, () => {
      const expected = columns.map((column) => ({ name: column.name, type: typeNames[column.type] }))
      assert.deepEqual(describedColumns(name as DatasetName), expected)
    })
})

type ExportedRow = Readonly<Record<string, string | number | null>>

/** Runs the commands of the example with demo data. */
async function runExample(): Promise<{ fundings: ExportedRow[]; labels: ExportedRow[] }> {
  await using folder = await openFolder()
  await copyDemo(join(folder.dir, 'data'))
  const commands = [...example().matchAll(/^tetrad (export .+)$/gm)].map(([, args = '']) => args.split(' '))
  for (const args of commands) {
    const { code, stderr } = await runCommand(args, { cwd: folder.dir })
    assert.equal(code, 0, stderr)
  }
  const readRows = async (name: string) => {
    const bytes = await readFile(join(folder.dir, `${name}.parquet`))
    return (await parquetReadObjects({ file: Uint8Array.from(bytes).buffer })) as ExportedRow[]
  }
  return { fundings: await readRows('fundings'), labels: await readRows('labels') }
}

const example = (): string => page.slice(page.indexOf('## Example'))
const queryFor = (tool: 'DuckDB' | 'pandas' | 'ClickHouse'): string =>
  new RegExp(`^${tool}\\b.*?^\`\`\`\\w+\n(.*?)^\`\`\``, 'ms').exec(example())?.[1] ?? assert.fail(tool)

/** The answer, computed here. */
function answer({ fundings, labels }: Awaited<ReturnType<typeof runExample>>): string[] {
  const best = new Map<string, ExportedRow>()
  for (const label of labels) {
    if (label.kind !== 'address' || label.entity === null) continue
    const known = best.get(`${label.chain} ${label.address}`)
    if (Number(label.confidence) > Number(known?.confidence ?? -1)) best.set(`${label.chain} ${label.address}`, label)
  }
  const sums = new Map<string, { addresses: number; wei: bigint }>()
  for (const { chain, funder, value_wei } of fundings) {
    const entity = best.get(`${chain} ${funder}`)?.entity
    if (typeof entity !== 'string') continue
    const { addresses, wei } = sums.get(entity) ?? { addresses: 0, wei: 0n }
    sums.set(entity, { addresses: addresses + 1, wei: wei + BigInt(value_wei ?? 0) })
  }
  const rows = [...sums].map(([entity, sum]) => ({ entity, ...sum }))
  rows.sort((a, b) => b.addresses - a.addresses || (a.entity < b.entity ? -1 : 1))
  return rows.slice(0, 3).map(({ entity, addresses, wei }) => `${entity}\t${addresses}\t${wei}`)
}

describe('example', () => {
  test('the queries name only exported columns', () => {
    const columns = new Set([...datasetColumns.fundings, ...datasetColumns.labels].map(({ name }) => name))
    const aliases = ['tagged', 'owner', 'addresses', 'wei', 'f', 't']
    const sqlWords =
      'with as select from where is not null and group by count sum join inner on order desc limit'.split(' ')
    const functions = ['arg_max', 'argMax', 'hugeint', 'toUInt256', 'file']
    for (const tool of ['DuckDB', 'ClickHouse'] as const) {
      const names = [
        ...queryFor(tool)
          .replaceAll(/'[^']*'/g, '')
          .matchAll(/[a-z_]\w*/gi),
      ].map(([name]) => name)
      const unknown = names.filter((name) => ![...columns, ...aliases, ...sqlWords, ...functions].includes(name))
      assert.deepEqual(unknown, [], tool)
    }
    const pandas = queryFor('pandas')
    const quoted = [...pandas.matchAll(/'(\w+)'/g)].map(([, name = '']) => name)
    const members = [...pandas.replaceAll(/'[^']*'/g, '').matchAll(/\b(?:labels|fundings)\.(\w+)(?!\w*\()/g)].map(
      ([, name = '']) => name,
    )
    const unknown = [...quoted, ...members].filter((name) => ![...columns, ...aliases, 'count', 'sum'].includes(name))
    assert.deepEqual(unknown, [])
  })

  test('ClickHouse answers it with the exported rows', { skip: noClickhouse }, async () => {
    const rows = await runExample()
    await using clickhouse = await startClickhouse()
    const load = async (table: 'fundings' | 'labels', columns: Readonly<Record<string, string>>) => {
      const definitions = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
      await clickhouse.sql(`create table ${table} (${definitions.join()}) engine = Memory`)
      const lines = rows[table].map((row) =>
        JSON.stringify(Object.fromEntries(Object.keys(columns).map((name) => [name, row[name]]))),
      )
      await clickhouse.sql(`insert into ${table} format JSONEachRow ${lines.join('\n')}`)
    }
    await load('fundings', { chain: 'String', funder: 'String', value_wei: 'String' })
    await load('labels', {
      ...{ kind: 'String', chain: 'String', address: 'Nullable(String)', entity: 'Nullable(String)' },
      confidence: 'Nullable(Int32)',
    })
    const expected = answer(rows)
    assert.equal(expected.length, 3)
    assert.deepEqual((await clickhouse.sql(forOldClickhouse(queryFor('ClickHouse')))).split('\n'), expected)
  })
})

/** ClickHouse 18 has no `with … as (select …)`, no 256-bit integers, and no Parquet. */
function forOldClickhouse(query: string): string {
  const [, tagged = '', rest = ''] = /^with tagged as \((.*?)^\)\n(.*);\n$/ms.exec(query) ?? assert.fail(query)
  return rest
    .replace('join tagged as t', `join (${tagged}) as t`)
    .replaceAll(/toUInt256\((.+?)\)/g, 'toDecimal128($1, 0)')
    .concat(' format TabSeparated')
    .replaceAll(/file\('(\w+)\.parquet'\)/g, '$1')
}
