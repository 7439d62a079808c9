import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createClient } from '#api/client/client.ts'
import { extensions } from '#api/contract/extensions.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { addCoverage } from '#storage/coverage.ts'
import { createKey } from '#storage/keys.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from '#test/context.ts'
import { fundedBy } from '../../endpoints/funded-by.ts'
import { blocksStream, confirmHead, putHead } from '../../funding/chain-coverage.ts'
import { type Funding, putFundings, putProven } from '../../funding/fundings.ts'
import { putUnfinalizedFundings } from '../../funding/index/unfinalized.ts'
import { HistoryWriter } from '../../labels/history.ts'
import { putTags } from '../../labels/tags.ts'
import { fundings } from './fundings.ts'

const addressOf = (name: string): string => `0x${Buffer.from(name).toString('hex').padStart(40, '0')}`

const funding = (address: string, block: number, funder = 'exchange'): Funding => ({
  chain: '1',
  address: addressOf(address),
  block,
  txIndex: 0,
  position: 0,
  timeUnix: 1_700_000_000 + block,
  funder: addressOf(funder),
  tx: `0x${block.toString(16).padStart(64, '0')}`,
  valueWei: 10n ** 18n,
})

interface Stored {
  readonly indexed?: readonly Funding[]
  readonly proven?: readonly Funding[]
  readonly unfinalized?: readonly Funding[]
  /** Blocks of 1000 that are indexed. */
  readonly until?: number
  readonly isConfirmed?: boolean
}

async function contextWith({ indexed = [], proven = [], unfinalized = [], until = 1000, isConfirmed = true }: Stored) {
  const context = await openContext()
  await context.ingest.write(async (tx) => {
    await putFundings(tx, indexed)
    for (const row of proven) await putProven(tx, row, { method: 'state', lists: 'not needed', nodes: [] })
    await putUnfinalizedFundings(tx, unfinalized)
    if (until > 0) await addCoverage(tx, blocksStream('1'), 0, until)
    await putHead(tx, '1', 1000)
    const history = new HistoryWriter(tx, { by: 'test', via: 'test', atMs: 1 })
    const tag = {
      chain: '1',
      address: addressOf('exchange'),
      source: 'own',
      name: 'Harbour: hot wallet',
      confidence: 90,
    }
    await putTags(history, [{ ...tag, source: 'list', name: 'Another name', confidence: 40 }, tag])
  })
  if (isConfirmed) await confirmHead(context.ingest, '1', 1000, context.clock.now())
  return context
}

async function ask(context: TestContext, ...names: string[]) {
  const outcome = await fundings.handle({ chainid: '1', addresses: names.map(addressOf) }, context, testRequestInfo())
  assert.ok(outcome.is === 'body')
  assert.deepEqual(checker(extensions['explorer.fundings'].reply)(structuredClone(outcome.body)), [])
  return { records: outcome.body.result, confidence: outcome.confidence }
}

describe('200', () => {
  test('one record for each address in the order of the request, with the label of the funder', async () => {
    await using context = await contextWith({ indexed: [funding('b', 20), funding('a', 10, 'b')] })
    const { records, confidence } = await ask(context, 'a', 'none', 'b', 'a')
    assert.deepEqual(records, [
      {
        address: addressOf('a'),
        status: 'funded',
        funding: {
          ...{ block: 10, timeStamp: '1700000010', fundingAddress: addressOf('b') },
          ...{ fundingTxn: `0x${'a'.padStart(64, '0')}`, value: '1000000000000000000' },
        },
        finality: 'finalized',
      },
      {
        ...{ address: addressOf('none'), status: 'none', finality: 'finalized' },
        message: 'No transfer came in up to block 999.',
      },
      { ...records[2], label: { name: 'Harbour: hot wallet', source: 'own', confidence: 90 } },
      records[0],
    ])
    assert.deepEqual(confidence, { asOf: 999, finality: 'finalized', coverage: 'complete' })
  })

  test('of several unfinalized transfers the earliest is returned, with finality head', async () => {
    await using context = await contextWith({
      unfinalized: [funding('a', 1005), funding('a', 1002), funding('b', 1003)],
    })
    const { records, confidence } = await ask(context, 'a', 'none')
    assert.deepEqual([records[0]?.funding?.block, records[0]?.finality], [1002, 'head'])
    assert.deepEqual([records[1]?.status, confidence?.finality], ['none', 'head'])
  })

  for (const [name, stored, statuses, coverage] of [
    ['without an index', { until: 0, proven: [funding('a', 20)] }, ['funded', 'not_covered'], 'none'],
    ['a partial index', { until: 500, indexed: [funding('a', 20)] }, ['funded', 'not_covered'], '0-499'],
    ['a row after a gap', { until: 500, indexed: [funding('a', 700)] }, ['not_covered', 'not_covered'], '0-499'],
    [
      'an index whose head no node confirms',
      { isConfirmed: false, indexed: [funding('a', 20)] },
      ['funded', 'not_covered'],
      '0-999',
    ],
    ['a complete index', { indexed: [funding('a', 20)] }, ['funded', 'none'], 'complete'],
    ['a search result with a complete index', { proven: [funding('a', 20)] }, ['funded', 'none'], 'complete'],
  ] as const) {
    test(`${name}: an address that was not read is never "none"`, async () => {
      await using context = await contextWith(stored)
      const { records, confidence } = await ask(context, 'a', 'other')
      assert.deepEqual(
        records.map(({ status }) => status),
        statuses,
      )
      assert.equal(confidence?.coverage, coverage)
      for (const { status, message } of records)
        if (status === 'not_covered') assert.match(message ?? '', /not been read|been read yet|No node has confirmed/)
    })
  }

  test('results of searches alone are probed', async () => {
    await using context = await contextWith({ until: 0, proven: [funding('a', 20), funding('b', 30)] })
    assert.deepEqual((await ask(context, 'a', 'b')).confidence, { finality: 'finalized', coverage: 'probed' })
  })

  test('each record is what 4.3 returns from the same store', async () => {
    const blocks = fc.integer({ min: 1, max: 1010 })
    const rows = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), blocks, fc.boolean()), {
      selector: ([name]) => name,
    })
    const property = fc.asyncProperty(
      rows,
      fc.constantFrom(0, 400, 1000),
      fc.boolean(),
      async (all, until, isConfirmed) => {
        const of = (isProven: boolean) =>
          all
            .filter(([, block, proven]) => block < 1000 && proven === isProven)
            .map(([name, block]) => funding(name, block))
        const unfinalized = all.filter(([, block]) => block > 1000).map(([name, block]) => funding(name, block))
        await using context = await contextWith({
          indexed: of(false),
          proven: of(true),
          unfinalized,
          until,
          isConfirmed,
        })
        const names = ['a', 'b', 'c', 'd', 'e', 'f']
        const { records } = await ask(context, ...names)
        for (const [at, name] of names.entries()) {
          const { status, funding: found, finality } = records[at] ?? assert.fail()
          const request = { chainid: '1', address: addressOf(name) }
          const one = await fundedBy.handle(request, context, testRequestInfo()).catch((error: unknown) => {
            assert.ok(error instanceof Fault && error.code === 'explorer.not_covered', String(error))
          })
          const expected = !one ? 'not_covered' : one.is === 'nothing' ? 'none' : 'funded'
          assert.equal(status, expected, name)
          if (one?.is === 'body') assert.deepEqual([found, finality], [one.body.result, one.confidence?.finality])
        }
      },
    )
    await fc.assert(property, { numRuns: 25 })
  })

  test('asks no node', async () => {
    await using context = await openContext({
      explorer: { chains: [{ id: '1', name: 'Ethereum', rpc: [{ url: 'http://127.0.0.1:9' }] }] },
    })
    const { records } = await ask(context, 'a')
    assert.equal(records[0]?.status, 'not_covered')
    assert.equal(context.explorer.nodes.size, 0)
  })
})

test('over HTTP: mixed case, duplicates, a form, and the limits of the group', async () => {
  await using context = await contextWith({ indexed: [funding('a', 20)] })
  const authorizer = await openAuthorizer(context)
  const settings = settingsWith({ server: { port: 0 } })
  const server = await startHttpServer(
    createApp({ ...context, settings }, [fundings], authorizer, { request: () => {} }),
    [],
  )
  try {
    const keyOf = async (plan: 'lite' | 'standard') =>
      (await createKey(context.state, { name: plan, plan }, context.clock, context.random)).key
    const key = await keyOf('standard')
    const client = createClient({ baseUrl: server.url, key, retries: 0 })
    const call = (addresses: string[], chainid = '1') => client.explorer.fundings({ chainid, addresses })
    const mixed = addressOf('a').replace('0x', '').toUpperCase()
    const twice = await call([`0x${mixed}`, addressOf('a')])
    assert.deepEqual(
      twice.result.map(({ address }) => address),
      [addressOf('a'), addressOf('a')],
    )

    const thousand = Array.from({ length: 1000 }, (_, at) => addressOf(`n${at}`))
    const { result } = await call(thousand)
    assert.deepEqual(
      result.map(({ address }) => address),
      thousand,
    )
    await assert.rejects(call([addressOf('a')]), /rate limit reached \(2\/sec\)/)

    context.clock.advance(1000)
    await assert.rejects(call([...thousand, addressOf('a')]), /addresses must have at most 1000 items/)
    await assert.rejects(call([addressOf('a'), '0x12']), /addresses must be 0x and 40 hexadecimal digits: address 2/)
    context.clock.advance(1000)
    await assert.rejects(call([]), /addresses is required/)
    await assert.rejects(call([addressOf('a')], '5'), /unsupported chainid/)

    const form = (body: URLSearchParams) => fetch(`${server.url}/v2/fundings?apikey=${key}`, { method: 'POST', body })
    context.clock.advance(1000)
    const posted = await form(new URLSearchParams({ addresses: thousand.join() }))
    assert.equal(((await posted.json()) as typeof twice).result.length, 1000)
    const large = await form(new URLSearchParams({ addresses: [...thousand, ...thousand].join() }))
    assert.deepEqual([large.status, ((await large.json()) as { status: string }).status], [200, '0'])

    const poor = createClient({ baseUrl: server.url, key: await keyOf('lite'), retries: 0 })
    await assert.rejects(poor.explorer.fundings({ addresses: [addressOf('a')] }), /needs the standard plan/)
  } finally {
    await server.close()
    await authorizer.close()
  }
})
