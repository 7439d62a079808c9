// Blocks after the Amsterdam fork: their logs list the same transfers as their traces, and an answer that contradicts the
// header is not used.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { SimulatedChain } from '#simulator/evm/chain.ts'
import { seedsOf } from '#test/long.ts'
import { type AmsterdamOptions, amsterdamOf, createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { type AccountBalances, findUnexplainedBalance, topTransfers, toTransfer } from './amsterdam.ts'
import { accessListCall, readBlocks } from './blocks.ts'
import { openRpc } from './rpc.ts'
import { UnreadableBlock } from './trace-recovery.ts'
import type { Block, BlockWithExecution, ReceiptForm } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: the cases change answers of any form
type Any = any

const chainOf = (seed: string | number, amsterdamFrom = 1, options?: AmsterdamOptions) => {
  const chain = createAmsterdamChain({ seed: `amsterdam ${seed}`, busy: 8, amsterdamFrom }, options)
  chain.mine(30)
  return chain
}

/** `alter` changes the result of a method. */
function openNode(
  chain: SimulatedChain,
  capabilities: SimulatedCapabilities,
  alter?: (method: string, result: Any) => void,
) {
  const node = new LimitedNode(chain, capabilities)
  const asked: string[] = []
  const rpc = openRpc({
    chain: '1',
    rpc: [{ url: 'http://simulator/', perSecond: 0, batchMax: 50, timeoutMs: 1000 }],
    clock: systemClock,
    backoffMs: 0,
    post: async (_, { body }) => {
      const calls = [JSON.parse(body ?? '')].flat() as { id: number; method: string }[]
      const replies = [JSON.parse((await node.respond(body ?? '')).text)].flat()
      for (const { id, method } of calls) {
        asked.push(method)
        alter?.(method, replies.find((reply) => reply.id === id).result)
      }
      return JSON.stringify(replies)
    },
  })
  return { rpc, asked }
}

const numbers = Array.from({ length: 30 }, (_, at) => at + 1)
const forms: readonly ReceiptForm[] = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']

const transfersOf = (blocks: readonly BlockWithExecution[]) =>
  blocks.map(({ execution }) => {
    assert.ok(execution.form !== 'receipts')
    return execution.transfers
  })

const balancesOf = async (rpc: ReturnType<typeof openNode>['rpc'], block: Block) =>
  ((await rpc.results([accessListCall(block)])) as AccountBalances[][])[0] ?? assert.fail('no access list')

test('logs and traces list the same transfers in the same order, and explain every balance', async (context) => {
  let count = 0
  for (const seed of seedsOf(60, 12)) {
    const chain = chainOf(seed, seed % 3 === 0 ? 15 : 1)
    const { rpc } = openNode(chain, { traces: ['trace_block'], receipts: true, accessLists: true })
    const traced = await readBlocks(rpc, 'trace_block', numbers)
    for (const logs of forms) {
      const logged = await readBlocks(rpc, 'trace_block', numbers, { logs })
      assert.deepEqual(transfersOf(logged), transfersOf(traced), `seed ${seed}`)
      for (const { block, execution } of logged) {
        assert.equal(execution.form, block.number < (seed % 3 === 0 ? 15 : 1) ? 'traced' : 'logs')
        if (execution.form !== 'logs') continue
        count += execution.transfers.flat().length
        const balances = await balancesOf(rpc, block)
        assert.equal(findUnexplainedBalance(block, execution.transfers, balances), undefined, `seed ${seed}`)
      }
    }
  }
  context.diagnostic(`${count} transfers`)
  assert.ok(count > 500, `${count} transfers`)
})

describe('an altered answer is noticed', () => {
  const chain = chainOf('altered')
  const hasInnerTransfer = ({ transactions, transfers }: (typeof chain.blocks)[number]) =>
    transactions.length > 2 &&
    transfers.some(({ position }) => position > 0) &&
    transfers.some(({ position }) => position === 0)
  const block = chain.blocks.find((one) => one.number > 0 && hasInnerTransfer(one)) ?? assert.fail('no block')
  const withWithdrawal = chain.blocks.find(({ withdrawals }) => withdrawals.length > 0) ?? assert.fail('no withdrawal')
  const at = block.transactions.findIndex(({ frame, value }) => !frame.failed && value > 0n)
  const systemLog = (receipts: Any) =>
    receipts.flatMap(({ logs }: Any) => logs).find(({ address }: Any) => address === system)

  const receiptCases: readonly (readonly [string, (receipts: Any) => void])[] = [
    ['another amount', (receipts) => Object.assign(systemLog(receipts), { data: `0x${'1'.padStart(64, '0')}` })],
    ['another recipient', (receipts) => systemLog(receipts).topics.splice(2, 1, `0x${'1'.padStart(64, '0')}`)],
    ['another contract', (receipts) => Object.assign(systemLog(receipts), { address: `0x${'1'.repeat(40)}` })],
    ['a missing log', (receipts) => void receipts[at].logs.shift()],
    ['a log twice', (receipts) => void receipts[at].logs.push(receipts[at].logs[0])],
    ['a missing receipt', (receipts) => void receipts.pop()],
    ['two receipts in another order', (receipts) => void receipts.reverse()],
    ['another status', (receipts) => Object.assign(receipts[at], { status: '0x0' })],
    ['other gas', (receipts) => Object.assign(receipts[0], { cumulativeGasUsed: '0x1' })],
    ['another type', (receipts) => Object.assign(receipts[0], { type: '0x1' })],
    ['bytes that are none', (receipts) => Object.assign(receipts[at].logs[0], { data: '0x0' })],
    ['no logs', (receipts) => void delete receipts[0].logs],
  ]
  for (const [name, change] of receiptCases)
    test(`receipts: ${name}`, () => assertNoticed(block.number, 'eth_getBlockReceipts', change))
  test('one receipt', () =>
    assertNoticed(
      block.number,
      'eth_getTransactionReceipt',
      (receipt) => {
        if (Number(receipt.transactionIndex) === at) receipt.logs.shift()
      },
      'eth_getTransactionReceipt',
    ))
  for (const [name, change] of [
    ['another receiptsRoot', (json) => Object.assign(json, { receiptsRoot: `0x${'1'.repeat(64)}` })],
    ['another withdrawal', (json) => Object.assign(json.withdrawals[0], { amount: '0x1' })],
    ['a missing withdrawal', (json) => void json.withdrawals.pop()],
    ['another withdrawalsRoot', (json) => Object.assign(json, { withdrawalsRoot: `0x${'1'.repeat(64)}` })],
  ] satisfies [string, (json: Any) => unknown][])
    test(`block: ${name}`, () => assertNoticed(withWithdrawal.number, 'eth_getBlockByNumber', change))

  /** With traces, the block is read from them, and the reason is reported. Without, it is not read. */
  async function assertNoticed(
    number: number,
    altered: string,
    change: (result: Any) => unknown,
    logs: ReceiptForm = 'eth_getBlockReceipts',
  ): Promise<void> {
    const alter = (method: string, result: Any) => {
      if (method === altered) change(result)
    }
    const [truth] = await readBlocks(openNode(chain, { traces: ['trace_block'] }).rpc, 'trace_block', [number])
    const both = openNode(chain, { traces: ['trace_block'], receipts: true }, alter)
    const [read] = await readBlocks(both.rpc, 'trace_block', [number], { logs })
    assert.ok(read?.execution.form === 'traced' && read.execution.contradiction)
    assert.deepEqual(read.execution.transfers, truth?.execution.form === 'traced' && truth.execution.transfers)
    const { rpc, asked } = openNode(chain, { traces: [], receipts: true }, alter)
    await assert.rejects(readBlocks(rpc, logs, [number], { logs }), (error) => error instanceof UnreadableBlock)
    assert.ok(!asked.some((method) => /trace/.test(method)))
  }

  for (const [name, change] of [
    ['another balance', (list) => Object.assign(changedIn(list).balanceChanges[0], { value: '0x1' })],
    ['a missing account', (list) => void list.splice(list.indexOf(changedIn(list)), 1)],
    ['another order', (list) => void list.reverse()],
    [
      'another nonce',
      (list) =>
        void list.find(({ nonceChanges }: Any) => nonceChanges[0]).nonceChanges.push({ index: '0x1', value: '0x9' }),
    ],
    ['no index', (list) => void delete changedIn(list).balanceChanges[0].index],
  ] satisfies [string, (list: Any) => unknown][])
    test(`access list: ${name}`, async () => {
      const { rpc } = openNode(chain, { traces: [], receipts: true, accessLists: true }, (method, result) => {
        if (method === 'eth_getBlockAccessList') change(result)
      })
      const [read] = await readBlocks(rpc, 'eth_getBlockReceipts', [block.number], { logs: 'eth_getBlockReceipts' })
      await assert.rejects(rpc.results([accessListCall((read as BlockWithExecution).block)]), /access list/)
    })
})

describe('the header of a block has its hash', () => {
  const chain = chainOf('header')
  const read = (change: (json: Any) => void, verifiesHeaders = true, numbers = [chain.head.number]) => {
    const { rpc } = openNode(chain, { traces: ['trace_block'], receipts: true }, (method, result) => {
      if (method === 'eth_getBlockByNumber') change(result)
    })
    return readBlocks(rpc, 'trace_block', numbers, { logs: 'eth_getBlockReceipts', verifiesHeaders })
  }
  const hashOf = async (...args: Parameters<typeof read>) =>
    new Set((await read(...args)).map(({ block }) => block.amsterdam?.headerHash))

  test('and so is every field of it covered', async () => {
    assert.deepEqual(await hashOf(() => {}, true, numbers), new Set(['verified']))
    const fields = Object.keys(amsterdamOf(chain).headerJson(chain.head))
    assert.equal(fields.length, 23)
    for (const field of fields.filter((name) => name !== 'number')) {
      const alter = (json: Any) => {
        const digit = json[field].at(-1) === '5' ? '4' : '5'
        json[field] = json[field] === '0x' ? '0x01' : `${json[field].slice(0, -1)}${digit}`
      }
      const notRead = (error: unknown) =>
        error instanceof UnreadableBlock && /the header does not have the hash of the block/.test(error.reason)
      await assert.rejects(read(alter), notRead, field)
      assert.deepEqual(await hashOf(alter, false), new Set(['wrong']), field)
    }
  })

  test('and a malformed field is noticed', async () => {
    await assert.rejects(
      read((json) => Object.assign(json, { extraData: '0x0g' })),
      UnreadableBlock,
    )
    await assert.rejects(
      read((json) => Object.assign(json, { gasUsed: 5 })),
      UnreadableBlock,
    )
  })

  test('but other members of the block do not matter', async () => {
    assert.deepEqual(await hashOf((json) => Object.assign(json, { size: '0x9', l1: '0x1' })), new Set(['verified']))
  })

  test('a field that is not known, or is missing, is read as not verified', async () => {
    assert.deepEqual(await hashOf((json) => void delete json.slotNumber), new Set(['unknown']))
    const later = chainOf('later', 1, { hasNewField: true })
    const { rpc } = openNode(later, { traces: [], receipts: true })
    const blocks = await readBlocks(rpc, 'eth_getBlockReceipts', numbers, {
      logs: 'eth_getBlockReceipts',
      verifiesHeaders: true,
    })
    for (const { block, execution } of blocks)
      assert.deepEqual([block.amsterdam?.headerHash, execution.form], ['unknown', 'logs'])
  })
})

describe('the logs of a transaction', () => {
  const [from, to, other] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string]
  const own = { from, to, valueWei: 5n }
  const internal = { from: to, to: other, valueWei: 3n }
  const tx = { hash: '0x', index: 0, from, to, valueWei: 5n }
  const receipt = { transactionHash: '0x', encoded: undefined, hasSucceeded: true, logs: 2, firstTransferAt: 0 }

  test('begin with its value, which is at the top, and go on with internal transfers in their order', () => {
    const transfers = [own, internal, internal]
    const expected = transfers.map((transfer, at) => ({ top: at === 0, ...transfer }))
    assert.deepEqual(topTransfers({ ...receipt, transfers }, tx), expected)
    assert.match(String(topTransfers({ ...receipt, transfers, firstTransferAt: 1 }, tx)), /precedes/)
    for (const first of [
      { ...own, valueWei: 4n },
      { ...own, to: other },
      { ...own, from: other },
    ])
      assert.equal(topTransfers({ ...receipt, transfers: [first, own] }, tx), 'its value has no log')
    assert.equal(topTransfers({ ...receipt, transfers: [] }, tx), 'its value has no log')
  })

  test('have no log of its value if it has none, or if it is to the sender', () => {
    const expected = [{ top: false, ...internal }]
    for (const none of [
      { ...tx, valueWei: 0n },
      { ...tx, to: from },
    ])
      assert.deepEqual(topTransfers({ ...receipt, transfers: [internal], firstTransferAt: 1 }, none), expected)
  })

  test('name the contract that a transaction creates', () => {
    assert.deepEqual(topTransfers({ ...receipt, transfers: [own] }, { ...tx, to: null }), [{ top: true, ...own }])
    const fromOther = { ...own, from: other }
    assert.equal(topTransfers({ ...receipt, transfers: [fromOther] }, { ...tx, to: null }), 'its value has no log')
  })

  test('are none if it failed', () => {
    assert.deepEqual(topTransfers({ ...receipt, hasSucceeded: false, logs: 0, transfers: [] }, tx), [])
    const failed = { ...receipt, hasSucceeded: false, logs: 1, transfers: [own] }
    assert.equal(topTransfers(failed, tx), 'it failed, but has logs')
  })

  test('are transfers of coins only if 0xff…fe emits them, with the topics and the data of a transfer', () => {
    const word = (hex: string) => hex.slice(2).padStart(64, '0')
    const transferTopic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const read = (address: string, topics: readonly string[], data: string) => {
      const parts = [address.slice(2), ...topics.map((topic) => `a0${topic}`), data]
      return toTransfer(Buffer.from(parts.join(''), 'hex'), {
        addressAt: 0,
        topicsAt: 20,
        topics: topics.length,
        dataAt: 20 + 33 * topics.length,
        dataSize: data.length / 2,
      })
    }
    const topics = [transferTopic, word(from), word(to)]
    assert.deepEqual(read(system, topics, word('0x5')), own)
    assert.equal(read(other, topics, word('0x5')), undefined, 'a token')
    assert.equal(read(`0x${'f'.repeat(40)}`, topics, word('0x5')), undefined, 'another address')
    assert.equal(read(system, [word('0x1'), ...topics.slice(1)], word('0x5')), undefined, 'another event')
    assert.equal(read(system, [], word('0x5')), undefined)
    for (const [malformed, data] of [
      [topics.slice(0, 2), word('0x5')],
      [[...topics, word('0x1')], word('0x5')],
      [[transferTopic, `01${word(from).slice(2)}`, word(to)], word('0x5')],
      [topics, '05'],
    ] satisfies [string[], string][])
      assert.equal(read(system, malformed, data), 'the log of a transfer is malformed')
    const noTransfer = 'a log of a transfer without value, or to its sender'
    assert.equal(read(system, topics, word('0x0')), noTransfer)
    assert.equal(read(system, topics.with(2, word(from)), word('0x5')), noTransfer)
  })
})

const system = `0x${'f'.repeat(39)}e`

const changedIn = (list: Any) => list.find(({ balanceChanges }: Any) => balanceChanges.length > 0)

test('a transfer that has no log is noticed in the access list, wherever it is', async () => {
  const chain = chainOf('unlogged')
  const { rpc } = openNode(chain, { traces: [], receipts: true, accessLists: true })
  let noticed = 0
  let hidden = 0
  for (const { block, execution } of await readBlocks(rpc, 'eth_getBlockReceipts', numbers, {
    logs: 'eth_getBlockReceipts',
  })) {
    assert.ok(execution.form === 'logs')
    const balances = await balancesOf(rpc, block)
    for (const [at, transfers] of execution.transfers.entries())
      for (const left of transfers) {
        const without = execution.transfers.with(
          at,
          transfers.filter((one) => one !== left),
        )
        hidden += 1
        if (findUnexplainedBalance(block, without, balances)) noticed += 1
      }
  }
  // Not noticed: the sender or the recipient has other transfers in the transaction, and no earlier balance in the block.
  assert.ok(noticed > hidden / 2 && hidden > 50, `${noticed} of ${hidden}`)
})

test('withdrawals and fees explain balances, and nothing else does', async () => {
  const chain = chainOf('income')
  const { rpc } = openNode(chain, { traces: [], receipts: true, accessLists: true })
  const read = await readBlocks(rpc, 'eth_getBlockReceipts', numbers, { logs: 'eth_getBlockReceipts' })
  const { block, execution } = read.find(({ block: { withdrawals } }) => withdrawals.length > 0) ?? assert.fail()
  assert.ok(execution.form === 'logs')
  const balances = await balancesOf(rpc, block)
  const withoutWithdrawals = findUnexplainedBalance({ ...block, withdrawals: [] }, execution.transfers, balances)
  assert.match(withoutWithdrawals ?? '', new RegExp(`${block.withdrawals[0]?.address} at index`))
  const busy = read.find(({ block: { transactions } }) => transactions.length > 1) ?? assert.fail()
  const fees = await balancesOf(rpc, busy.block)
  assert.ok(busy.execution.form === 'logs')
  const ofOther = { ...busy.block, miner: `0x${'9'.repeat(40)}` }
  assert.match(findUnexplainedBalance(ofOther, busy.execution.transfers, fees) ?? '', new RegExp(busy.block.miner))
})
