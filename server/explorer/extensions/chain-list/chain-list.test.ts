import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCoverage } from '#storage/coverage.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { blocksStream } from '../../funding/chain-coverage.ts'
import { getIndexProblems } from '../../funding/index/problems.ts'
import { openNode } from '../../nodes.ts'
import { chainList } from './chain-list.ts'

const chainWith = (id: string, name: string, urls: readonly string[]) => ({
  ...{ id, name, rpc: urls.map((url) => ({ url })) },
})

test('200: every configured chain is listed with the state of its nodes, without calling them', async () => {
  const [first, second] = ['http://127.0.0.1:1/first', 'http://127.0.0.1:1/second']
  const chains = [
    chainWith('1', 'Ethereum', [first, second]),
    chainWith('137', 'Polygon', []),
    chainWith('10', 'Optimism', [first, second]),
    chainWith('8453', 'Base', []),
  ]
  await using context = await openContext({ explorer: { chains } })
  await context.ingest.write((tx) => addCoverage(tx, blocksStream('8453'), 0, 100))
  const list = async () => {
    const outcome = await chainList.handle({}, context, testRequestInfo({ origin: 'https://data.example' }))
    assert.ok(outcome.is === 'body')
    return outcome.body
  }
  const { totalcount, result } = await list()
  assert.equal(totalcount, 4)
  assert.deepEqual(result[0], {
    chainname: 'Ethereum',
    chainid: '1',
    blockexplorer: '',
    apiurl: 'https://data.example/v2/api?chainid=1',
    status: 1,
    comment: '',
  })
  assert.deepEqual([result[1]?.status, result[1]?.comment], [0, 'No node is configured.'])
  assert.deepEqual([result[3]?.status, result[3]?.comment], [2, 'No node is configured. Stored blocks are served.'])

  const [ethereum = assert.fail(), , optimism = assert.fail()] = context.settings.explorer.chains
  const open = (chain: typeof ethereum, troubles: readonly (string | undefined)[]) => {
    const node = openNode(chain, context)
    const health = () => troubles.map((trouble, at) => ({ name: String(at), trouble }))
    context.explorer.nodes.set(chain.id, { ...node, rpc: { ...node.rpc, health } })
  }
  const statuses = async () => (await list()).result.map(({ status, comment }) => `${status} ${comment}`)
  open(ethereum, ['refused', undefined])
  open(optimism, ['refused', 'refused'])
  assert.deepEqual(await statuses(), [
    '2 Some nodes do not respond.',
    '0 No node is configured.',
    '0 No node responds.',
    '2 No node is configured. Stored blocks are served.',
  ])
  open(ethereum, [undefined, undefined])
  getIndexProblems(context, '1').stopped = 'another chain'
  assert.equal((await statuses())[0], '2 The index has stopped.')
})
