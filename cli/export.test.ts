// Tests `tetrad export` as a script calls it.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { openIngest, openState, openStores } from '#storage/open.ts'
import { openContext } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { copyEmptyStores } from '#test/template.ts'
import { perfect, writeEpochs } from '#test/validators-world.ts'
import { untilSignal } from './export.ts'

/** A data folder with two labels. */
async function openLabels() {
  const folder = await openFolder()
  const data = join(folder.dir, 'data')
  await copyEmptyStores(data)
  const ingest = await openIngest(data)
  await ingest.write((tx) =>
    tx.insertMany(
      'labels',
      ['chain', 'slug', 'name', 'description', 'notes', 'updated_unix'],
      [
        ['1', 'acme', 'Acme, Inc.', '', '', Date.UTC(2026, 9, 1) / 1000],
        ['1', 'zeta', 'Zeta', '', '', Date.UTC(2026, 10, 1) / 1000],
      ],
    ),
  )
  await ingest.close()
  return folder
}

test('labels are written to standard output, or to a file in the format of its extension', async () => {
  await using folder = await openLabels()
  const cwd = folder.dir
  const csv = await runCommand(['export', 'labels', '--until', '2026-11-01'], { cwd })
  assert.equal(csv.code, 0, csv.stderr)
  const head = 'kind,chain,address,entity,name,description,notes,source,confidence,evidence_url,updated_at'
  assert.equal(csv.stdout, `${head}\r\nentity,1,,acme,"Acme, Inc.",,,,,,2026-10-01T00:00:00.000Z\r\n`)
  assert.match(csv.stderr, /1 row of labels written\.$/m)

  const lines = await runCommand(['export', 'labels', '--format', 'ndjson', '--out', '-', '--json'], { cwd })
  assert.deepEqual(
    lines.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).name),
    ['Acme, Inc.', 'Zeta'],
  )

  const parquet = await runCommand(['export', 'labels', '--from', '2026-11-01', '--out', 'l.parquet', '--json'], {
    cwd,
  })
  assert.deepEqual(JSON.parse(parquet.stdout), { dataset: 'labels', format: 'parquet', file: 'l.parquet', rows: 1 })
  const bytes = await readFile(join(cwd, 'l.parquet'))
  const rows = await parquetReadObjects({ file: Uint8Array.from(bytes).buffer })
  assert.deepEqual(
    rows.map(({ name, updated_at }) => [name, updated_at]),
    [['Zeta', new Date(Date.UTC(2026, 10, 1))]],
  )
})

test('duties are exported while a server has the data folder', async () => {
  await using context = await openContext()
  const { genesisUnix, slotSeconds, slotsPerEpoch } = context.settings.validators.networks.mainnet
  const chain = { genesisUnix, slotSeconds, slotsPerEpoch, genesisRoot: '0x00' }
  await context.duties.update('writeChain', { network: 'mainnet', chain })
  await writeEpochs(context, 'mainnet', { from: 0, until: 1 }, [{ ...perfect, epoch: 0, validator: 7 }])
  const stores = await openStores(context.dir)
  try {
    const args = ['export', 'duties', '--format', 'ndjson', '--data', context.dir]
    const { code, stdout, stderr } = await runCommand(args, { cwd: context.dir })
    assert.equal(code, 0, stderr)
    const { network, date, validator_index, assigned } = JSON.parse(stdout)
    assert.deepEqual([network, date, validator_index, assigned], ['mainnet', '2020-12-01', 7, 1])
  } finally {
    await stores.close()
  }
})

test('if an export fails, the old file stays and no incomplete file is left', async () => {
  await using folder = await openLabels()
  const cwd = folder.dir
  const state = await openState(join(cwd, 'data'))
  const columns = ['id', 'key_id', 'created_ms', 'as_of_ms', 'priced_from', 'receipt_key', 'receipt_signature', 'reply']
  const empty = new Uint8Array(0)
  await state.write((tx) => tx.insertMany('fx_quotes', columns, [['q', 'k', 1, 1, '{', 'r', empty, empty]]))
  await state.close()
  await writeFile(join(cwd, 'q.csv'), 'old')
  const result = await runCommand(['export', 'quotes', '--out', 'q.csv'], { cwd })
  assert.equal(result.code, 1)
  assert.deepEqual((await readdir(cwd)).sort(), ['data', 'q.csv'])
  assert.equal(await readFile(join(cwd, 'q.csv'), 'utf8'), 'old')
})

test('wrong options are refused before anything is written', async () => {
  await using folder = await openLabels()
  for (const [args, code, expected] of [
    [['nothing'], 2, /Allowed choices are duties, fundings, labels, markets, quotes/],
    [['labels', '--format', 'parquet'], 2, /Pass --out FILE/],
    [['labels', '--out', 'labels.txt'], 2, /Unknown file extension of labels\.txt\. Pass --format/],
    [['labels', '--from', '2026-11-02', '--until', '2026-11-01'], 2, /--from 2026-11-02 is not before --until/],
    [['labels', '--from', 'soon'], 2, /--from "soon" is not a time/],
    [['labels', '--data', 'nowhere'], 1, /Data folder nowhere does not exist/],
  ] as const) {
    const result = await runCommand(['export', ...args], { cwd: folder.dir })
    assert.equal(result.code, code, args.join(' '))
    assert.match(result.stderr, expected)
  }
  assert.deepEqual(await readdir(folder.dir), ['data'])
})

test('a signal stops the export as a failure', async (t) => {
  t.after(() => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  })
  const work = untilSignal('labels.csv', async (signal) => {
    process.emit('SIGINT', 'SIGINT')
    signal.throwIfAborted()
  })
  await assert.rejects(work, /Stopped\. labels\.csv was not written\./)
})
