import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { listLabels } from '#explorer/labels/labels.ts'
import { openIngest } from '#storage/open.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'
import { copyEmptyStores } from '#test/template.ts'

const hot = '0x28c6c06298d514db089934071355e5743bf21d60'

const commands = ['', 'add', 'edit', 'remove', 'history', 'import', 'export']

describe('help', { concurrency: 2 }, () => {
  for (const name of commands) {
    test(`tetrad labels ${name} has help and accepts --config, --data and --json`, async () => {
      await using home = await openFolder()
      const words = ['labels', name].filter(Boolean)
      const { code, stdout } = await runCommand([...words, '--help'], { cwd: home.dir })
      assert.equal(code, 0)
      assert.ok(stdout.startsWith(`Usage: tetrad ${words.join(' ')} `), stdout)
      for (const option of ['--config <file>', '--data <dir>', '--json']) assert.ok(stdout.includes(option), option)
    })
  }
})

test('add, edit, remove and history work while another process has the store open', async () => {
  await using home = await openFolder()
  const state = await openIngest(join(home.dir, 'data'))
  const tetrad = async (...words: string[]) => {
    const { code, stdout, stderr } = await runCommand(['labels', ...words, '--json'], { cwd: home.dir })
    assert.deepEqual([code, stderr], [0, ''], words.join(' '))
    return JSON.parse(stdout)
  }
  try {
    const added = await tetrad('add', '--chain', '1,137', '--name', 'Harbour Exchange', '--by', 'ann')
    assert.deepEqual(added, { added: 2, slug: 'harbour-exchange', chains: ['1', '137'] })
    const [record] = await Array.fromAsync(listLabels(state, '137'))
    assert.deepEqual([record?.labelname, record?.labelslug], ['Harbour Exchange', 'harbour-exchange'])
    await tetrad('add', '--chain', '1', '--address', hot, '--name', 'Hot', '--entity', 'harbour-exchange')
    await tetrad('edit', 'harbour-exchange', '--chain', '137', '--notes', 'moved', '--by', 'bob')
    await tetrad('edit', hot, '--confidence', '70', '--evidence', 'https://harbour.example/proof')
    for (const words of [
      ['harbour-exchange', '--chain', '137', '--notes', 'moved'],
      [hot, '--confidence', '70'],
    ]) {
      assert.equal((await tetrad('edit', ...words)).edited, 0)
      const { stdout } = await runCommand(['labels', 'edit', ...words], { cwd: home.dir })
      assert.equal(stdout, `nothing changed: ${words[0]} already has these values\n`)
    }
    const { addresses } = await tetrad('export', '--what', 'addresses')
    assert.deepEqual([addresses[0].confidence, addresses[0].name], [70, 'Hot'])
    const kept = await runCommand(['labels', 'remove', 'harbour-exchange'], { cwd: home.dir })
    assert.match(kept.stderr, /harbour-exchange has 1 tagged address\. Remove/)
    const gone = await tetrad('remove', 'harbour-exchange', '--addresses')
    assert.deepEqual([gone.removed, gone.addresses], [2, 1])
    assert.deepEqual(await Array.fromAsync(listLabels(state, '1')), [])

    const history = await tetrad('history', 'harbour-exchange')
    assert.deepEqual(
      history.map((edit: { action: string; chain: string; by: string }) => [edit.action, edit.chain]),
      [
        ['removed', '137'],
        ['removed', '1'],
        ['changed', '137'],
        ['added', '137'],
        ['added', '1'],
      ],
    )
    assert.deepEqual([history[2].by, history[2].after.notes, history[4].by], ['bob', 'moved', 'ann'])
    assert.equal((await tetrad('history', hot, '--limit', '1'))[0].action, 'removed')
  } finally {
    await state.close()
  }
})

describe('files', () => {
  test('import writes the good records, and the bad ones to a rejects file with line and reason', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'labels.csv'), `chain,address,name\n1,${hot},Hot\n1,0x1,"Bad, one"\n`)
    const first = await runCommand(['labels', 'import', 'labels.csv'], { cwd: home.dir })
    assert.deepEqual(first, {
      code: 3,
      stdout: 'entities   0 added, 0 changed, 0 unchanged\naddresses  1 added, 0 changed, 0 unchanged\n',
      stderr: '1 record rejected. Reasons: labels.csv.rejects.csv\n',
    })
    assert.equal(
      await readFile(join(home.dir, 'labels.csv.rejects.csv'), 'utf8'),
      'line,column,reason,record\r\n3,1,address must be 0x and 40 hexadecimal digits,"1,0x1,""Bad, one"""\r\n',
    )
    const again = await runCommand(['labels', 'import', 'labels.csv', '--rejects', 'bad.csv', '--json'], {
      cwd: home.dir,
    })
    assert.deepEqual(JSON.parse(again.stdout), {
      entities: { added: 0, changed: 0, unchanged: 0 },
      addresses: { added: 0, changed: 0, unchanged: 1 },
      rejected: 1,
      rejectsFile: 'bad.csv',
    })
    assert.equal(again.code, 3)
  })

  test('import reads gzipped files and standard input, whose rejects go to the working folder', async () => {
    await using home = await openFolder()
    const csv = `chain,address,name\n1,${hot},Hot\n1,0x1,Bad\n`
    await writeFile(join(home.dir, 'labels.csv.gz'), gzipSync(csv))
    const packed = await runCommand(['labels', 'import', 'labels.csv.gz'], { cwd: home.dir })
    assert.deepEqual([packed.code, packed.stderr], [3, '1 record rejected. Reasons: labels.csv.gz.rejects.csv\n'])
    for (const [file, input] of [
      ['-', csv],
      ['-', gzipSync(csv)],
      ['/dev/stdin', csv],
    ] as const) {
      const words = ['labels', 'import', file, '--format', 'csv', '--json']
      // `cat`: the test process would pass a socket, which cannot be opened as /dev/stdin.
      const { status, stdout } = spawnSync('sh', ['-c', 'cat | "$@"', 'sh', process.execPath, launcher, ...words], {
        ...{ cwd: home.dir, env: commandEnv(), input, encoding: 'utf8' },
      })
      assert.equal(status, 3)
      const { addresses, rejectsFile } = JSON.parse(stdout)
      assert.deepEqual([addresses.unchanged, rejectsFile], [1, 'labels.rejects.csv'])
    }
    assert.match(await readFile(join(home.dir, 'labels.rejects.csv'), 'utf8'), /^line,column,reason,record\r\n3,1,/)
  })

  test('an import without rejects deletes an old rejects file, but no other file', async () => {
    await using home = await openFolder()
    const [labels, rejects] = ['labels.csv', 'labels.csv.rejects.csv'].map((name) => join(home.dir, name))
    assert.ok(labels && rejects)
    const importFile = (...words: string[]) =>
      runCommand(['labels', 'import', 'labels.csv', ...words], { cwd: home.dir })
    await writeFile(labels, `chain,address,name\n1,0x1,Bad\n`)
    assert.equal((await importFile()).code, 3)
    assert.ok(existsSync(rejects))
    await writeFile(labels, `chain,address,name\n1,${hot},Hot\n`)
    await writeFile(join(home.dir, 'own.csv'), 'my own\n')
    assert.equal((await importFile('--rejects', 'own.csv')).code, 0)
    assert.equal(await readFile(join(home.dir, 'own.csv'), 'utf8'), 'my own\n')
    assert.equal((await importFile()).code, 0)
    assert.ok(!existsSync(rejects))
  })

  test('import reads back what export writes, into the same store and an empty one', async () => {
    await using home = await openFolder()
    const tetrad = (...words: string[]) => runCommand(['labels', ...words], { cwd: home.dir })
    await tetrad(
      'add',
      '--chain',
      '1,137',
      '--name',
      'Harbour, "Ltd"',
      '--description',
      'two\nlines',
      '--slug',
      'harbour',
    )
    await tetrad('edit', 'harbour', '--chain', '137', '--notes', 'moved')
    await tetrad('add', '--chain', '1', '--address', hot, '--name', 'Hot', '--entity', 'harbour', '--source', 'audit')
    await tetrad('export', '--out', 'all.json')
    const { entities } = JSON.parse(await readFile(join(home.dir, 'all.json'), 'utf8'))
    assert.deepEqual(
      entities.map((one: { chains: string[]; notes: string }) => [one.chains, one.notes]),
      [
        [['1'], ''],
        [['137'], 'moved'],
      ],
    )
    for (const data of ['data', 'fresh']) {
      assert.equal((await tetrad('import', 'all.json', '--data', data)).code, 0)
      assert.equal((await tetrad('export', '--data', data)).stdout, await readFile(join(home.dir, 'all.json'), 'utf8'))
    }
    assert.ok(!existsSync(join(home.dir, 'all.json.rejects.csv')))
    for (const part of ['entities', 'addresses']) {
      await tetrad('export', '--format', 'csv', '--what', part, '--out', `${part}.csv`)
      assert.equal((await tetrad('import', `${part}.csv`, '--data', 'tables')).code, 0)
    }
    assert.equal((await tetrad('export', '--data', 'tables')).stdout, (await tetrad('export')).stdout)
  })

  test('export --for-spreadsheets and the rejects file disarm texts that a spreadsheet would run', async () => {
    await using home = await openFolder()
    const tetrad = (...words: string[]) => runCommand(['labels', ...words], { cwd: home.dir })
    await tetrad('add', '--chain', '1', '--name', '=1+1', '--slug', 'sum')
    await tetrad('add', '--chain', '1', '--address', hot, '--name', '@SUM(A1)', '--entity', 'sum')
    const plain = await tetrad('export', '--format', 'csv')
    assert.match(plain.stdout, /^1,sum,=1\+1,/m)
    const entities = await tetrad('export', '--format', 'csv', '--for-spreadsheets')
    assert.match(entities.stdout, /^1,sum,'=1\+1,/m)
    const addresses = await tetrad('export', '--format', 'csv', '--for-spreadsheets', '--what', 'addresses')
    assert.match(addresses.stdout, new RegExp(`^1,${hot},'@SUM\\(A1\\),`, 'm'))
    const refused = await tetrad('export', '--for-spreadsheets')
    assert.deepEqual([refused.code, refused.stderr], [2, 'tetrad: --for-spreadsheets needs --format csv.\n'])
    await writeFile(join(home.dir, 'bad.csv'), 'name,chain,address\n=1+1,1,0x1\n')
    assert.equal((await tetrad('import', 'bad.csv')).code, 3)
    assert.match(await readFile(join(home.dir, 'bad.csv.rejects.csv'), 'utf8'), /digits,"'=1\+1,1,0x1"/)
  })

  test('imports the Open Labels Initiative format for the configured chains', async () => {
    await using home = await openFolder()
    await writeFile(
      join(home.dir, 'pool.json'),
      JSON.stringify([{ address: hot, chain_id: 'eip155:any', contract_name: 'Hot' }]),
    )
    const { stdout } = await runCommand(['labels', 'import', 'pool.json', '--format', 'oli', '--json'], {
      cwd: home.dir,
    })
    assert.equal(JSON.parse(stdout).addresses.added, 2)
  })
})

test('labels of a chain that is not configured are stored with a warning', async () => {
  await using home = await openFolder()
  const warning = 'Stored, but not served: chain 10 is not configured (explorer.chains: 1, 137).\n'
  const tetrad = (...words: string[]) => runCommand(['labels', ...words], { cwd: home.dir })
  const added = await tetrad('add', '--chain', '1,10', '--name', 'Harbour')
  assert.deepEqual(added, { code: 0, stdout: 'added harbour on chain 1, 10 (2)\n', stderr: warning })
  assert.equal((await tetrad('add', '--chain', '10', '--name', 'Hot', '--address', hot, '--json')).stderr, warning)
  await tetrad('export', '--out', 'all.json')
  assert.match((await tetrad('export', '--chain', '10')).stdout, /"slug":"harbour"/)
  assert.equal((await tetrad('import', 'all.json', '--data', 'other')).stderr, warning)
})

describe('errors say what to do: 1 for the data, 2 for the command line', () => {
  const cases: readonly (readonly [words: string[], expected: RegExp, exitCode?: number])[] = [
    [['edit', 'nobody', '--name', 'x'], /No entity nobody\. List the entities with: tetrad labels export --format csv/],
    [['edit', hot, '--name', 'x'], /No tag for 0x28c6/],
    [['edit', 'nobody'], /Nothing to change: pass at least one option/, 2],
    [
      ['add', '--chain', '1', '--name', 'x', '--entity', 'y'],
      /--entity is not for an entity; tag an address with --address/,
      2,
    ],
    [['add', '--chain', '1', '--name', 'x', '--address', '0x1'], /address must be 0x and 40 hexadecimal digits/],
    [['add', '--chain', '1', '--name', 'x', '--address', hot, '--entity', 'y'], /no entity y on chain 1; add it first/],
    [
      ['add', '--chain', '1', '--name', 'x', '--address', '0x5aAeb6053f3E94C9b9A09f33669435E7Ef1BeAed'],
      /address has a wrong EIP-55 checksum/,
    ],
    [['add', '--chain', '1', '--name', ''], /--name is empty/, 2],
    [['add', '--chain', '1', '--name', '日本 取引所'], /Pass --slug/, 2],
    [['import', 'nowhere.csv'], /There is no file nowhere\.csv/],
    [['import', 'labels.txt'], /Unknown file extension of labels\.txt\. Pass --format/, 2],
    [['import', '-'], /Standard input has no file extension\. Pass --format/, 2],
    [['export', '--chain', '777'], /Chain 777 is not in explorer\.chains \(1, 137\)\. Choose one with --chain/],
    [['export', '--format', 'csv', '--what', 'all'], /A CSV file has one table/, 2],
  ]
  for (const [words, expected, exitCode = 1] of cases) {
    test(`tetrad labels ${words.join(' ')}`, async () => {
      await using home = await openFolder()
      await copyEmptyStores(join(home.dir, 'data'))
      const { code, stdout, stderr } = await runCommand(['labels', ...words], { cwd: home.dir })
      assert.deepEqual([code, stdout], [exitCode, ''])
      assert.match(stderr, expected)
    })
  }
})

test('import reads chosen columns of a file with tabs, and creates entities', async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'set.tsv'), `\tAddress\tName Tag\n0\t${hot}\tBitMEX 1\n`)
  const columns = ['--columns', 'name=Name Tag,address=Address', '--entity', 'bitmex', '--create-entities']
  const words = ['labels', 'import', 'set.tsv', '--chain', '1', '--source', 'set', ...columns, '--json']
  const { code, stdout, stderr } = await runCommand(words, { cwd: home.dir })
  assert.equal(code, 0, stderr)
  const { entities, addresses } = JSON.parse(stdout)
  assert.deepEqual([entities.added, addresses.added], [1, 1])
  const wrong = await runCommand(['labels', 'import', 'set.tsv', '--columns', 'address'], { cwd: home.dir })
  assert.match(wrong.stderr, /It must be FIELD=COLUMN, such as address=Address/)
})
