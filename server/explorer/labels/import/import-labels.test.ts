import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { openContext, type TestContext } from '#test/context.ts'
import { readHistory } from '../history.ts'
import { findLabels, readListHead } from '../labels.ts'
import { findTags } from '../tags.ts'
import { type ImportFormat, type ImportOptions, importLabels } from './import-labels.ts'
import { readCsv } from './read-csv.ts'
import { readJson } from './read-json.ts'

const hot = '0x28c6c06298d514db089934071355e5743bf21d60'
const cold = `0x${'c0'.repeat(20)}`

const importText = (context: TestContext, format: ImportFormat, text: string, options: Partial<ImportOptions> = {}) =>
  importLabels(context.ingest, { by: 'ann', via: 'import labels', atMs: context.clock.now() }, text, {
    format,
    source: format === 'oli' ? 'oli' : 'import',
    everyChain: ['1', '137'],
    ...options,
  })

const mistyped = '0x5aAeb6053f3E94C9b9A09f33669435E7Ef1BeAed'
const entities = [
  'chains,slug,name,description,notes',
  '"1,137",harbour,Harbour Exchange,"Deposit, hot wallets.","two\r\nlines"',
  '1,lantern,Lantern,,',
  '',
].join('\r\n')

const addresses = [
  'chain,address,name,entity,source,confidence,evidence',
  `1,${hot.toUpperCase().replace('0X', '0x')},Hot wallet,harbour,own,90,https://harbour.example/proof`,
  `1,${cold},Cold wallet,,,,`,
  '',
].join('\n')

describe('CSV', () => {
  test('entities and their addresses are imported, and a second import changes nothing', async () => {
    await using context = await openContext()
    const first = await importText(context, 'csv', entities)
    assert.deepEqual(first, {
      entities: { added: 3, changed: 0, unchanged: 0 },
      addresses: { added: 0, changed: 0, unchanged: 0 },
      chains: ['1', '137'],
      rejects: [],
    })
    const harbour = (await findLabels(context.ingest, 'harbour'))[0]
    assert.deepEqual([harbour?.description, harbour?.notes], ['Deposit, hot wallets.', 'two\r\nlines'])
    assert.deepEqual((await importText(context, 'csv', addresses)).addresses, { added: 2, changed: 0, unchanged: 0 })
    const [tag] = await findTags(context.ingest, hot)
    assert.deepEqual([tag?.entity, tag?.confidence, tag?.evidenceUrl], ['harbour', 90, 'https://harbour.example/proof'])
    assert.deepEqual(
      (await findTags(context.ingest, cold)).map(({ source, confidence }) => [source, confidence]),
      [['import', 50]],
    )

    context.clock.advance(3_600_000)
    const before = await readHistory(context.ingest, { limit: 100 })
    assert.deepEqual((await importText(context, 'csv', entities)).entities, { added: 0, changed: 0, unchanged: 3 })
    assert.deepEqual((await importText(context, 'csv', addresses)).addresses, { added: 0, changed: 0, unchanged: 2 })
    assert.deepEqual(await readHistory(context.ingest, { limit: 100 }), before)
    assert.deepEqual(await readListHead(context.ingest, '1'), { revision: 1, entries: 2 })
  })

  test('a bad row is reported with line and reason, good ones are written together', async () => {
    await using context = await openContext()
    const file = [
      'chain,address,name,entity,source,confidence,evidence', // line 1
      `1,${hot},Good,,own,90,`, // 2
      `1,0x123,Short,,own,90,`, // 3
      `1,${cold},"Two`, // 4 and 5
      `lines",,own,101,`,
      `x,${cold},Nowhere,,own,90,`, // 6
      `1,${cold},Few`, // 7
      `1,${cold},"Closed"too early,,own,90,`, // 8
      `1,${hot},Other words,,own,90,`, // 9
      `1,${hot},Good,,own,90,`, // 10: the same again is fine
      `1,${cold},Stray,nobody,own,90,`, // 11
      `1,${cold},Link,,other,90,ftp://x`, // 12
      `1,${cold},,,third,90,`, // 13
      `1,${cold},Sure,,fourth,101,`, // 14
      `1,${mistyped},Mistyped,,own,90,`, // 15
      `1,${cold},"never closed,,own,90,`, // 16
      `1,${cold},Lost,,own,90,`, // swallowed by the quote above
    ].join('\n')
    const { addresses, rejects } = await importText(context, 'csv', file)
    assert.deepEqual(addresses, { added: 1, changed: 0, unchanged: 0 })
    assert.deepEqual(
      rejects.map(({ line, reason }) => [line, reason]),
      [
        [3, 'address must be 0x and 40 hexadecimal digits'],
        [4, 'name contains characters that cannot be stored'],
        [6, 'chain must be a chain id such as 1, not x'],
        [7, 'the row has 3 values, the header has 7'],
        [8, 'there is text after a closing quote'],
        [9, 'conflicts with line 2'],
        [11, 'no entity nobody on chain 1; add it first'],
        [12, 'evidence must be a URL that begins with http:// or https://'],
        [13, 'name is required'],
        [14, 'confidence must be an integer from 0 to 100'],
        [15, 'address has a wrong EIP-55 checksum: a letter or its case is wrong'],
        [16, 'the closing quote is missing'],
      ],
    )
    assert.equal(rejects[0]?.raw, `1,0x123,Short,,own,90,`)
  })

  test('the download of 4.1 can be imported for a given chain', async () => {
    await using context = await openContext()
    const file = 'labelname,labelslug,shortdescription,notes,lastupdatedtimestamp\r\nHarbour,harbour,x,,1790000000\r\n'
    assert.equal((await importText(context, 'csv', file, { chains: ['137'] })).entities.added, 1)
    const [row] = await findLabels(context.ingest, 'harbour')
    assert.deepEqual([row?.chain, row?.updatedUnix], ['137', 1_790_000_000])
    assert.equal((await importText(context, 'csv', file)).rejects[0]?.reason, 'chain is required')
  })

  test('an unknown column or a missing header is an error of the file', async () => {
    await using context = await openContext()
    await assert.rejects(importText(context, 'csv', 'chain,slug,nmae\n1,a,A\n'), /unknown column nmae/)
    await assert.rejects(importText(context, 'csv', ''), /no header line/)
  })

  test('fields without a column stay', async () => {
    await using context = await openContext()
    await importText(context, 'csv', entities)
    await importText(context, 'csv', 'chain,slug,name\n1,harbour,Harbour Ltd\n')
    const [row] = await findLabels(context.ingest, 'harbour')
    assert.deepEqual([row?.name, row?.description], ['Harbour Ltd', 'Deposit, hot wallets.'])
  })

  test('the reader returns any table unchanged, with the right line numbers', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\r', '\n', ' ', 'é'), maxLength: 8 })
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell), { maxLength: 5 }), fc.constantFrom('\n', '\r\n'), (rows, end) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
        const lines = rows.map((row) => row.map(quoted).join(','))
        const read = [...readCsv(['x,y', ...lines].join(end)).records]
        assert.deepEqual(
          read.map(({ record }) => [record?.x, record?.y]),
          rows,
        )
        let line = 2
        for (const [at, one] of lines.entries()) {
          assert.equal(read[at]?.line, line)
          line += one.split(/\r\n|\r|\n/).length
        }
      }),
    )
  })
})

describe('JSON', () => {
  test('reads an array, or an object with entities and addresses, and reports the line of a bad record', async () => {
    await using context = await openContext()
    const file = JSON.stringify(
      {
        entities: [
          { chains: ['1', 137], slug: 'harbour', name: 'Harbour {[" Exchange' },
          { chains: [1], slug: 'Not A Slug', name: 'x' },
        ],
        addresses: [
          { chain: '1', address: hot, name: 'Hot', entity: 'harbour', confidence: 80 },
          { chain: '1', address: hot, name: 'Hot', colour: 'red' },
          'nothing',
          { chain: '1', address: cold, name: 5 },
        ],
      },
      null,
      2,
    )
    const { entities, addresses, rejects } = await importText(context, 'json', file)
    assert.deepEqual([entities.added, addresses.added], [2, 1])
    const lineOf = (text: string) => file.slice(0, file.indexOf(text)).split('\n').length
    assert.deepEqual(
      rejects.map(({ line, reason }) => [line, reason]),
      [
        [lineOf('Not A Slug') - 4, 'slug must be 1 to 128 lower-case letters, digits and . _ ~ -, and not an address'],
        [lineOf('colour') - 4, 'unknown field colour'],
        [lineOf('nothing'), 'the record is not an object'],
        [lineOf('"name": 5') - 3, 'name must be text'],
      ],
    )
    assert.equal((await importText(context, 'json', `[{"chain":1,"name":"Ünïted Ports"}]`)).entities.added, 1)
    assert.equal((await findLabels(context.ingest, 'united-ports')).length, 1)
    const empty = '{"source":null,"entities":[{"chain":1,"name":"North Quay"}],"addresses":null}'
    assert.equal((await importText(context, 'json', empty)).entities.added, 1)
  })

  test('rejected records of one line have different columns', async () => {
    await using context = await openContext()
    const file = JSON.stringify({
      addresses: [
        { chain: '1', address: '0x1', name: 'Short' },
        { chain: '1', address: hot, name: 'Hot' },
        { chain: '1', address: hot, name: 'Other' },
      ],
    })
    const columnOf = (text: string) => file.indexOf(text) + 1
    for (const prefix of ['', '\uFEFF']) {
      const { rejects } = await importText(context, 'json', prefix + file)
      assert.deepEqual(
        rejects.map(({ line, column, reason }) => [line, column, reason]),
        [
          [1, columnOf('{"chain":"1","address":"0x1"'), 'address must be 0x and 40 hexadecimal digits'],
          [
            1,
            file.lastIndexOf('{') + 1,
            `conflicts with line 1, column ${columnOf(`{"chain":"1","address":"${hot}"`)}`,
          ],
        ],
      )
    }
    const { rejects } = await importText(
      context,
      'oli',
      `[{"address":"${cold}","chain_id":"eip155:1"},\n {"address":"x"}]`,
    )
    assert.deepEqual(
      rejects.map(({ line, column }) => [line, column]),
      [
        [1, 2],
        [2, 2],
      ],
    )
  })

  test('invalid JSON, or JSON without records, is an error of the file', async () => {
    await using context = await openContext()
    await assert.rejects(importText(context, 'json', '[{"a":1,}]'), /not valid JSON/)
    await assert.rejects(importText(context, 'json', '{"labels":[]}'), /no records.*entities or addresses/)
    await assert.rejects(importText(context, 'json', '7'), /no records/)
    await assert.rejects(importText(context, 'json', '{"entities":[],"adresses":[]}'), /unknown member "adresses"/)
    await assert.rejects(importText(context, 'json', '{"entities":[],"addresses":{}}'), /unknown member "addresses"/)
  })

  test('the list determines the kind of a record, with or without an address', async () => {
    await using context = await openContext()
    const address = `0x${'12'.repeat(20)}`
    const { rejects, entities, addresses } = await importText(
      context,
      'json',
      `{"chain":1,\n"addresses":[{"name":"no address"},\n{"name":"Right","address":"${address}"}],\n"entities":[{"name":"E","address":"${address}"}]}`,
    )
    assert.deepEqual([entities.added, addresses.added], [0, 1])
    assert.deepEqual(
      rejects.map(({ line, reason }) => [line, reason]),
      [
        [2, 'address must be 0x and 40 hexadecimal digits'],
        [4, 'unknown field address'],
      ],
    )
  })

  test('every record has the line it begins on, in any layout of the document', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constant({ a: [1, { b: '}]"' }] }),
      fc.constant({ 'x"': null }),
    )
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 6 }),
        fc.constantFrom(0, 1, 2),
        fc.boolean(),
        (values, indent, inside) => {
          const text = JSON.stringify(inside ? { before: { addresses: [1] }, addresses: values } : values, null, indent)
          const read = readJson(text, ['addresses'])
          assert.equal(read.length, values.length)
          const rows = text.split('\n')
          for (const { line, raw } of read) {
            const first = JSON.stringify(JSON.parse(raw), null, indent).split('\n')[0] ?? ''
            assert.ok(rows[line - 1]?.includes(first.replace(/,$/, '')), `${line}: ${raw}`)
          }
        },
      ),
    )
  })

  test('text that a database may not return unchanged is rejected', async () => {
    await using context = await openContext()
    const { rejects } = await importText(
      context,
      'json',
      '[{"chain":1,"slug":"a","name":"\\ud800"},{"chain":1,"slug":"b","name":"a\\u0000b"}]',
    )
    assert.deepEqual(
      rejects.map(({ reason }) => reason),
      ['name contains characters that cannot be stored', 'name contains characters that cannot be stored'],
    )
  })
})
