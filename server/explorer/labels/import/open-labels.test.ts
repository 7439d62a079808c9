import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { HistoryWriter } from '../history.ts'
import { eachLabel, putLabels } from '../labels.ts'
import { findTags } from '../tags.ts'
import { type ImportOptions, importLabels } from './import-labels.ts'

const hot = '0x28c6c06298d514db089934071355e5743bf21d60'
const cold = `0x${'c0'.repeat(20)}`
const author = { by: 'ann', via: 'import labels', atMs: 1_790_000_000_000 }

const importText = (context: TestContext, text: string, options: Partial<ImportOptions> = {}) =>
  importLabels(context.ingest, author, text, { format: 'oli', source: 'oli', everyChain: ['1', '137'], ...options })

describe('Open Labels Initiative', () => {
  const attester = `0x${'A7'.repeat(20)}`

  test('a member per tag: name, owner as entity, link as evidence', async () => {
    await using context = await openContext()
    const file = JSON.stringify(
      [
        {
          address: hot,
          chain_id: 'eip155:1',
          contract_name: 'Hot wallet',
          is_eoa: true,
          owner_project: 'harbour',
          _source: 'https://h.example',
        },
        { address: cold, chain_id: 'eip155-137', name: 'Vault', usage_category: 'cex' },
        { address: cold, chain_id: 'eip155:1', is_contract: true },
        { address: cold, chain_id: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', contract_name: 'x' },
        { address: '0x5aAeb6053f3E94C9b9A09f33669435E7Ef1BeAed', chain_id: 'eip155:1', contract_name: 'x' },
      ],
      null,
      1,
    )
    const { entities, addresses, rejects } = await importText(context, file)
    assert.deepEqual([entities.added, addresses.added], [1, 2])
    assert.deepEqual(
      rejects.map(({ reason }) => reason.slice(0, 32)),
      ['no tag contains a name for the a', 'chain_id must be eip155: and a n', 'address has a wrong EIP-55 check'],
    )
    const [tag] = await findTags(context.ingest, hot)
    assert.deepEqual(
      [tag?.name, tag?.entity, tag?.source, tag?.evidenceUrl],
      ['Hot wallet', 'harbour', 'oli', 'https://h.example'],
    )
    assert.deepEqual((await importText(context, file)).addresses, { added: 0, changed: 0, unchanged: 2 })
  })

  test('a member per tag as CSV, with the columns of the template', async () => {
    await using context = await openContext()
    const file = [
      'address,chain_id,is_eoa,contract_name,owner_project,erc20.symbol,usage_category,source_code_verified',
      `${hot},eip155:10,false,mirror,mirror,,non_fungible_tokens,`,
      `${cold},eip155:10,,,,,fungible_tokens,`,
    ].join('\n')
    const { addresses, rejects } = await importText(context, file)
    assert.deepEqual([addresses.added, rejects.map(({ line }) => line)], [1, [3]])
  })

  test('one tag per record: collected per address and attester, the newer value counts', async () => {
    await using context = await openContext()
    const label = (tag_id: string, tag_value: string, time: string, by = attester) => ({
      tag_id,
      tag_value,
      chain_id: 'eip155:1',
      time,
      attester: by,
    })
    const file = JSON.stringify({
      address: hot,
      count: 4,
      labels: [
        label('contract_name', 'New', '2026-02-01T00:00:00'),
        label('contract_name', 'Old', '2026-01-01T00:00:00'),
        label('oli.owner_project', 'harbour', '2026-01-01T00:00:00'),
        label('contract_name', 'Theirs', '2026-01-01T00:00:00', cold),
      ],
    })
    assert.equal((await importText(context, file)).addresses.added, 2)
    assert.deepEqual(
      (await findTags(context.ingest, hot)).map(({ name, source, entity }) => [name, source, entity]).sort(),
      [
        ['New', `oli:${attester.toLowerCase()}`, 'harbour'],
        ['Theirs', `oli:${cold}`, ''],
      ],
    )
  })

  test('attestations: tags as an object or as text; revoked ones are rejected', async () => {
    await using context = await openContext()
    const file = JSON.stringify({
      attestations: [
        { caip10: `eip155:1:${hot}`, tags_json: '{"contract_name":"A"}', attester },
        { recipient: cold, chain_id: 'eip155:1', tags: { contract_name: 'B' }, attester, revoked: false },
        { recipient: cold, chain_id: 'eip155:137', tags: { contract_name: 'C' }, attester, revoked: true },
        { recipient: cold, chain_id: 'eip155:137', tags_json: '{', attester },
      ],
    })
    const { addresses, rejects } = await importText(context, file)
    assert.equal(addresses.added, 2)
    assert.deepEqual(
      rejects.map(({ reason }) => reason),
      ['the attestation was revoked', 'tags must be an object'],
    )
  })

  test('a label for any chain is imported for every configured chain', async () => {
    await using context = await openContext()
    const file = JSON.stringify([{ address: hot, chain_id: 'eip155:any', contract_name: 'Everywhere' }])
    assert.equal((await importText(context, file)).addresses.added, 2)
    assert.match((await importText(context, file, { everyChain: [] })).rejects[0]?.reason ?? '', /none is configured/)
  })

  test('an existing owner keeps its texts', async () => {
    await using context = await openContext()
    const harbour = { chain: '1', slug: 'harbour', name: 'Harbour Exchange' }
    await context.ingest.write((tx) => putLabels(new HistoryWriter(tx, author), [harbour]))
    await importText(
      context,
      JSON.stringify([{ address: hot, chain_id: 'eip155:1', name: 'x', owner_project: 'harbour' }]),
    )
    const names = (await Array.fromAsync(eachLabel(context.ingest, '1'))).map(({ name }) => name)
    assert.deepEqual(names, ['Harbour Exchange'])
  })
})
