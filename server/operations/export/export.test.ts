// Exports of real databases, read back from each format.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { dateAt } from '#core/calendar.ts'
import { csvRows } from '#core/csv.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { perfect, writeEpochs } from '#test/validators-world.ts'
import { type Column, type DatasetName, datasetColumns, type Row } from './dataset.ts'
import { openDutiesTable } from './duties.ts'
import { type ExportFormat, encodeRows } from './format.ts'
import { openTable } from './tables.ts'

const always = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER }

async function* inBatches(...batches: (readonly Row[])[]): AsyncGenerator<readonly Row[]> {
  yield* batches
}

async function encode(format: ExportFormat, columns: readonly Column[], batches: AsyncIterable<readonly Row[]>) {
  const parts: Buffer[] = []
  for await (const part of encodeRows(format, columns, batches)) parts.push(Buffer.from(part as string))
  return Buffer.concat(parts)
}

const toArrayBuffer = (bytes: Buffer): ArrayBuffer => Uint8Array.from(bytes).buffer

async function exportRows(context: TestContext, name: DatasetName, range = always): Promise<Record<string, unknown>[]> {
  const dataset =
    name === 'duties'
      ? openDutiesTable(context.duties, range)
      : openTable(name, name === 'quotes' ? context.state : context.ingest, range)
  let [rowCount, done] = [0, 0]
  const batches = async function* () {
    for await (const batch of dataset.batches()) {
      rowCount += batch.rows.length
      done += batch.done
      yield batch.rows
    }
  }
  const bytes = await encode('parquet', dataset.columns, batches())
  const rows = await parquetReadObjects({ file: toArrayBuffer(bytes) })
  assert.equal(rows.length, rowCount)
  assert.equal(await dataset.total(), done)
  return rows
}

test('every format keeps all values exact', async () => {
  const columns: Column[] = [
    { name: 'text', type: 'text', isNullable: true },
    { name: 'flag', type: 'boolean', isNullable: true },
    { name: 'small', type: 'int32', isNullable: false },
    { name: 'large', type: 'int64', isNullable: true },
    { name: 'time', type: 'time', isNullable: true },
    { name: 'date', type: 'date', isNullable: false },
  ]
  const atMs = Date.UTC(2026, 10, 15, 12, 0, 0, 123)
  const rows: Row[] = [
    ['115792089237316195423570985008687907853269984665640564039457584007913129639935', true, -1, 2 ** 53 - 1, atMs, 0],
    ['a "b",\n☃', false, 2 ** 31 - 1, -(2 ** 53 - 1), 0, dateAt(atMs)],
    [null, null, 0, null, null, dateAt(atMs)],
  ]
  const batches = () => inBatches(rows.slice(0, 2), [], rows.slice(2))
  const ndjson = (await encode('ndjson', columns, batches())).toString()
  const expected = [
    [rows[0]?.[0], true, -1, 2 ** 53 - 1, '2026-11-15T12:00:00.123Z', '1970-01-01'],
    [rows[1]?.[0], false, 2 ** 31 - 1, -(2 ** 53 - 1), '1970-01-01T00:00:00.000Z', '2026-11-15'],
    [null, null, 0, null, null, '2026-11-15'],
  ]
  const lines = ndjson.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => Object.values(JSON.parse(line))),
    expected,
  )
  const csv = [...csvRows((await encode('csv', columns, batches())).toString())].map(({ cells }) => cells)
  assert.deepEqual(csv, [
    columns.map(({ name }) => name),
    ...expected.map((row) => row.map((cell) => String(cell ?? ''))),
  ])
  const read = await parquetReadObjects({ file: toArrayBuffer(await encode('parquet', columns, batches())) })
  const exact = rows.map(([text, flag, small, large, time, date]) => ({
    ...{ text, flag, small },
    large: large === null ? null : BigInt(large as number),
    time: time === null ? null : new Date(time as number),
    date: new Date((date as number) * 86_400_000),
  }))
  assert.deepEqual(
    read.map((row) => ({ ...row })),
    exact.map((row) => Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cell ?? read[2]?.[name]]))),
  )
  assert.ok(Object.entries(read[2] ?? {}).every(([name, cell]) => ['small', 'date'].includes(name) || cell == null))
})

test('an export without rows is a valid file with all columns', async () => {
  const bytes = await encode('parquet', datasetColumns.fundings, inBatches())
  const { schema, num_rows } = parquetMetadata(toArrayBuffer(bytes))
  assert.equal(num_rows, 0n)
  assert.deepEqual(
    schema.slice(1).map(({ name }) => name),
    datasetColumns.fundings.map(({ name }) => name),
  )
})

test('a Parquet file is written group by group: later rows are not read before a full group is written', async () => {
  const columns: Column[] = [{ name: 'n', type: 'int32', isNullable: false }]
  let read = 0
  const batches = async function* (): AsyncGenerator<Row[]> {
    for (; read < 70_000; ) {
      const from = read
      read += 10_000
      yield Array.from({ length: 10_000 }, (_, at) => [from + at])
    }
  }
  const readAt: number[] = []
  const parts: Buffer[] = []
  for await (const part of encodeRows('parquet', columns, batches())) {
    readAt.push(read)
    parts.push(Buffer.from(part as Uint8Array))
  }
  assert.deepEqual(readAt, [40_000, 70_000, 70_000, 70_000])
  const rows = await parquetReadObjects({ file: toArrayBuffer(Buffer.concat(parts)) })
  assert.deepEqual([rows.length, rows[32_768]?.n, rows[69_999]?.n], [70_000, 32_768, 69_999])
})

test('large documents also end a group', async () => {
  const columns: Column[] = [{ name: 'document', type: 'json', isNullable: false }]
  const document = 'x'.repeat(9 * 1024 * 1024)
  const bytes = await encode('parquet', columns, inBatches([[document], [document], [document]]))
  assert.deepEqual(
    parquetMetadata(toArrayBuffer(bytes)).row_groups.map(({ num_rows }) => num_rows),
    [2n, 1n],
  )
})

test('duties are summed by UTC day and validator, and unknown amounts are null', async () => {
  await using context = await openContext()
  const { genesisUnix, slotSeconds, slotsPerEpoch } = context.settings.validators.networks.mainnet
  const chain = { genesisUnix, slotSeconds, slotsPerEpoch, genesisRoot: '0x00' }
  await context.duties.update('writeChain', { network: 'mainnet', chain })
  // Genesis of mainnet is at 12:00:23 UTC, so the first UTC day has 113 epochs.
  const row = (epoch: number, validator: number) => ({ ...perfect, epoch, validator, attestation_reward: 14_000 })
  await writeEpochs(context, 'mainnet', { from: 100, until: 120 }, [
    ...[row(100, 3), row(112, 3), row(113, 3)],
    ...[row(113, 600), { ...row(114, 600), priority_fee: Number.NaN, execution_unknown: 1, earnings: -5 }],
  ])
  const rows = await exportRows(context, 'duties')
  const columns = ['date', 'epochs', 'validator_index', 'assigned', 'attestation_reward_gwei', 'earnings_gwei']
  const genesisDay = dateAt(genesisUnix * 1000) * 86_400_000
  const [first, second] = [new Date(genesisDay), new Date(genesisDay + 86_400_000)]
  assert.deepEqual(
    rows.map((exported) => columns.map((name) => exported[name])),
    [
      [first, 13, 3, 2, 28_000n, 0n],
      [second, 7, 3, 1, 14_000n, 0n],
      [second, 7, 600, 2, 28_000n, -5n],
    ],
  )
  assert.deepEqual(
    rows.map(({ network, priority_fee_gwei, execution_unknown }) => [
      network,
      priority_fee_gwei ?? null,
      execution_unknown,
    ]),
    [
      ['mainnet', 0n, 0],
      ['mainnet', 0n, 0],
      ['mainnet', null, 1],
    ],
  )
  const later = await exportRows(context, 'duties', { ...always, fromMs: genesisDay + 1 })
  assert.deepEqual(
    later.map(({ date }) => date),
    [second, second],
  )
  const earlier = await exportRows(context, 'duties', { fromMs: genesisDay, untilMs: genesisDay + 1 })
  assert.deepEqual(
    earlier.map(({ date }) => date),
    [first],
  )
})

test('fundings, labels, markets and quotes are selected by time', async () => {
  await using context = await openContext()
  const bytes = (byte: number, count: number) => new Uint8Array(count).fill(byte)
  await context.ingest.write(async (tx) => {
    const funding = [
      'chain',
      'address',
      'block',
      'tx_index',
      'position',
      'time_unix',
      'funder',
      'tx',
      'value_wei',
      'ground',
    ]
    const grounds = ['chain', 'ground', 'method', 'lists', 'nodes', 'is_void']
    await tx.insertMany('funding_grounds', grounds, [
      ['1', 1, 'state', 'not needed', '[]', 0],
      ['1', 2, 'state', 'asked', '["http://node.test"]', 1],
    ])
    await tx.insertMany('fundings', funding, [
      ['1', bytes(1, 20), 7, 2, 0, 1000, bytes(2, 20), bytes(3, 32), '120000000000000000000000001', 1],
      // Its ground is void.
      ['1', bytes(4, 20), 8, 0, 1, 2000, bytes(2, 20), bytes(5, 32), '1', 2],
    ])
    await tx.insertMany(
      'labels',
      ['chain', 'slug', 'name', 'description', 'notes', 'updated_unix'],
      [['1', 'acme', 'Acme', 'An exchange', '', 1000]],
    )
    await tx.insertMany(
      'tagged_addresses',
      ['chain', 'address', 'source', 'name', 'entity', 'confidence', 'evidence_url', 'updated_unix'],
      [['1', bytes(2, 20), 'own', 'Acme 1', 'acme', 90, '', 2000]],
    )
    const document = {
      id: '5',
      slug: 'five',
      closed: true,
      volume: '12345678901234567890.10',
      endDate: '2026-11-15T12:00:00Z',
    }
    const { id, ...fields } = document
    await putMarkets(tx, [{ kind: 'market', id, fields }], 1_500_000)
  })
  await context.state.write(async (tx) => {
    const quote = {
      ...{
        type: 'tradable',
        tenor: 'instant',
        expiresAt: '1970-01-01T00:25:30.000Z',
        rate: '0.0000001',
        fee: '0.5',
        collateral: '0',
      },
      from: { currency: 'USDC', amount: '1000.000001' },
      to: { currency: 'EURC', amount: '900.1' },
    }
    const receipt = JSON.stringify({ givenSide: 'from', quote })
    await tx.insertMany(
      'fx_quotes',
      ['id', 'key_id', 'created_ms', 'as_of_ms', 'priced_from', 'receipt_key', 'receipt_signature', 'reply'],
      [['q1', 'k1', 1_500_000, 1_499_999, receipt, 'r', bytes(0, 1), bytes(0, 1)]],
    )
  })
  const hex = (byte: string, count: number) => `0x${byte.repeat(count)}`
  const [funding, ...others] = await exportRows(context, 'fundings', { fromMs: 999_001, untilMs: 2_000_000 })
  assert.deepEqual(others, [])
  assert.deepEqual(
    { ...funding },
    {
      ...{ chain: '1', address: hex('01', 20), block: 7n, tx_index: 2, position: 0, time: new Date(1_000_000) },
      ...{ funder: hex('02', 20), tx: hex('03', 32), value_wei: '120000000000000000000000001', proven: true },
    },
  )
  const labels = await exportRows(context, 'labels')
  assert.deepEqual(
    labels.map((label) => Object.values(label).map((cell) => cell ?? null)),
    [
      ['entity', '1', null, 'acme', 'Acme', 'An exchange', null, null, null, null, new Date(1_000_000)],
      ['address', '1', hex('02', 20), 'acme', 'Acme 1', null, null, 'own', 90, null, new Date(2_000_000)],
    ],
  )
  const [market] = await exportRows(context, 'markets')
  assert.deepEqual(
    [market?.id, market?.closed, market?.active ?? null, market?.volume, market?.end_date, market?.modified_at],
    ['5', true, null, '12345678901234567890.10', new Date('2026-11-15T12:00:00Z'), new Date(1_500_000)],
  )
  assert.equal(JSON.parse(String(market?.document)).slug, 'five')
  const [quote] = await exportRows(context, 'quotes', { fromMs: 1_500_000, untilMs: 1_500_001 })
  assert.deepEqual(
    [quote?.id, quote?.rate, quote?.from_amount, quote?.to_currency, quote?.expires_at, quote?.rates_at],
    ['q1', '0.0000001', '1000.000001', 'EURC', new Date(1_530_000), new Date(1_499_999)],
  )
  assert.deepEqual(await exportRows(context, 'quotes', { fromMs: 0, untilMs: 1_500_000 }), [])
})
