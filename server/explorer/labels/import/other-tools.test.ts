// Files of other tools, in the layouts that they have: the original API and its export, public sets, lists of addresses.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { findLabels } from '../labels.ts'
import { findTags } from '../tags.ts'
import { type ImportFormat, type ImportOptions, importLabels } from './import-labels.ts'

const [hot, cold] = [`0x${'a1'.repeat(20)}`, `0x${'c0'.repeat(20)}`]

const importText = (context: TestContext, format: ImportFormat, text: string, options: Partial<ImportOptions> = {}) =>
  importLabels(context.ingest, { by: 'ann', via: 'import labels', atMs: context.clock.now() }, text, {
    ...{ format, source: 'import', everyChain: ['1'], chains: ['1'] },
    ...options,
  })

const tagOf = async (context: TestContext, address: string) => {
  const [tag, ...others] = await findTags(context.ingest, address)
  assert.deepEqual(others, [])
  return tag && [tag.name, tag.entity, tag.source]
}

const nametags = [
  '"address";"nametag";"internal_nametag";"url";"shortdescription";"notes_1";"notes_2";"labels";"labels_slug";"reputation";"other_attributes";"lastupdatedtimestamp"',
  `"${hot}";"Fake, 17";"";"";"";"Reported; be careful.";"";"Phish / Hack";"phish-hack";"2";"";"1728292621"`,
  `"${cold}";"";"";"";"";"";"";"Old Contract";"old-contract";"0";"";"1757057505"`,
].join('\n')

const options = { createsEntities: true }

describe('the original', () => {
  test('its export has semicolons; the first label is the entity, which is created when that is wanted', async () => {
    await using context = await openContext()
    const refused = await importText(context, 'csv', nametags)
    assert.deepEqual(
      refused.rejects.map(({ reason }) => reason),
      ['no entity phish-hack on chain 1; add it first', 'no entity old-contract on chain 1; add it first'],
    )
    const { addresses, rejects } = await importText(context, 'csv', nametags, options)
    assert.deepEqual([addresses.added, rejects], [2, []])
    assert.deepEqual(await tagOf(context, hot), ['Fake, 17', 'phish-hack', 'import'])
    assert.deepEqual(await tagOf(context, cold), ['old-contract', 'old-contract', 'import'], 'without a name')
    assert.equal((await findLabels(context.ingest, 'phish-hack'))[0]?.name, 'phish-hack')
    const again = await importText(context, 'csv', nametags, options)
    assert.deepEqual([again.addresses.unchanged, again.entities.unchanged], [2, 2])
  })

  test('replies about addresses and the reply with the list of labels are read as they are', async () => {
    await using context = await openContext()
    const tag = {
      ...{ address: hot, nametag: 'Harbour 3', internal_nametag: '', url: 'https://harbour.example' },
      ...{ shortdescription: 'x', notes_1: '', notes_2: '', labels: ['Harbour Exchange', 'Other'] },
      ...{ labels_slug: ['harbour', 'other'], reputation: 0, other_attributes: [], lastupdatedtimestamp: 1728292621 },
    }
    const reply = (result: readonly object[]) => JSON.stringify({ status: '1', message: 'OK', result }, null, 2)
    const list = [{ labelname: 'Harbour', labelslug: 'harbour', shortdescription: 'An exchange', notes: '' }]
    assert.deepEqual((await importText(context, 'json', reply(list))).rejects, [])
    assert.deepEqual((await importText(context, 'json', reply([tag]))).rejects, [])
    assert.deepEqual(await tagOf(context, hot), ['Harbour 3', 'harbour', 'import'])
    assert.equal((await findLabels(context.ingest, 'harbour'))[0]?.description, 'An exchange')
  })
})

describe('public sets', () => {
  test('a CSV file with one label per row', async () => {
    await using context = await openContext()
    const text = `address,chainId,label,nameTag\n"${hot}",1,"1inch","1inch: Router"\n"${cold}",1,"1inch",""\n`
    const { rejects } = await importText(context, 'csv', text, { ...options, source: 'eth-labels' })
    assert.deepEqual(rejects, [])
    assert.deepEqual(await tagOf(context, hot), ['1inch: Router', '1inch', 'eth-labels'])
    assert.deepEqual(await tagOf(context, cold), ['1inch', '1inch', 'eth-labels'])
  })

  test('JSON maps by address, with names or with records', async () => {
    await using context = await openContext()
    await importText(context, 'json', JSON.stringify({ [hot]: 'Ankr: Deployer' }))
    assert.deepEqual(await tagOf(context, hot), ['Ankr: Deployer', '', 'import'])
    const map = `{\n "${hot}": {"name": "Ankr 1", "labels": ["ankr", "staking"]},\n "${cold}": 7\n}`
    const { rejects } = await importText(context, 'json', map, options)
    assert.deepEqual(
      await tagOf(context, hot),
      ['Ankr 1', 'ankr', 'import'],
      'a second name of a source is a correction',
    )
    assert.deepEqual(
      rejects.map(({ line, reason }) => [line, reason]),
      [[3, 'the value of an address is neither a name nor an object']],
    )
  })

  test('lists of addresses get the given name, as text with comments or as JSON', async () => {
    await using context = await openContext()
    const named = { ...options, name: 'Sanctioned by OFAC', entity: 'ofac-sdn', source: 'ofac' }
    const { rejects } = await importText(context, 'addresses', `# list\n${hot}\r\n\nheader\n`, named)
    assert.deepEqual(
      rejects.map(({ line }) => line),
      [4],
    )
    await importText(context, 'json', JSON.stringify([cold]), named)
    for (const address of [hot, cold])
      assert.deepEqual(await tagOf(context, address), ['Sanctioned by OFAC', 'ofac-sdn', 'ofac'])
  })

  test('several sources name an address side by side', async () => {
    await using context = await openContext()
    for (const source of ['one', 'two']) await importText(context, 'addresses', hot, { name: `by ${source}`, source })
    assert.deepEqual((await findTags(context.ingest, hot)).map(({ name, source }) => [source, name]).sort(), [
      ['one', 'by one'],
      ['two', 'by two'],
    ])
  })
})

describe('chosen columns', () => {
  const columns = new Map([
    ['name', 'Name Tag'],
    ['address', 'Address'],
    ['entity', 'Owner'],
  ])

  test('are read, others are ignored; names of entities become slugs', async () => {
    await using context = await openContext()
    const text = `\tAddress\tName Tag\tOwner\tBalance\n0\t${hot}\tBitMEX 1\tBit MEX\t"12,801 ETH"\n`
    const { rejects } = await importText(context, 'csv', text, { ...options, columns })
    assert.deepEqual(rejects, [])
    assert.deepEqual(await tagOf(context, hot), ['BitMEX 1', 'bit-mex', 'import'])
  })

  test('must be in the file', async () => {
    await using context = await openContext()
    await assert.rejects(
      importText(context, 'csv', `Address,Name\n${hot},x\n`, { columns }),
      /the file has no column Name Tag; its columns are Address, Name/,
    )
  })
})
