// Account histories written by hand, block by block. Random ones are in ../random-histories.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import {
  type AccountEvent,
  type AccountHistoryOptions,
  contractCode,
  createAccountHistoryNode,
  delegation,
  me,
  payer,
} from '#test/account-history-node.ts'
import { AccountReader } from './account-reader.ts'
import { searchFunding } from './funding-search.ts'

async function search(history: readonly AccountEvent[], options: AccountHistoryOptions = {}, fanOut = 1) {
  const { node, read } = createAccountHistoryNode(history, options)
  await node.capabilities()
  const callsBefore = node.rpc.counts().calls
  read.length = 0
  const untilMs = Number.POSITIVE_INFINITY
  const { funding, ...rest } = await searchFunding(new AccountReader(node, me, { fanOut, untilMs }))
  return { block: funding?.block, funding, ...rest, read, calls: node.rpc.counts().calls - callsBefore }
}

const assertSearchFails = (
  history: readonly AccountEvent[],
  options: AccountHistoryOptions,
  code: Fault['code'],
  message: RegExp,
) =>
  assert.rejects(search(history, options), (error) => {
    assert.ok(error instanceof Fault, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(`${error.message} ${error.publicMessage}`, message)
    return true
  })

const gwei = 10n ** 9n
const withFilter = { filterBlocks: 1_000_000 }

describe('at most 64 calls on a chain of 20 million blocks with the default fan-out', () => {
  const options = { head: 20_000_000, final: 19_999_936 }
  const funded = { block: 12_345_678, balance: 5, paid: 5 }
  const histories: readonly [name: string, life: readonly AccountEvent[], block: number | undefined][] = [
    ['never used', [], undefined],
    ['funded and never spent', [funded], funded.block],
    [
      'funded, and spent in the next block',
      [funded, { block: funded.block + 1, nonce: 1, balance: 2, sends: true }],
      funded.block,
    ],
    ['funded, and spent in the same block', [{ ...funded, nonce: 1, balance: 2, sends: true }], funded.block],
    [
      'funded in the first block, emptied, funded again',
      [
        { block: 1, balance: 5, paid: 5 },
        { block: 2, balance: 0, nonce: 1, sends: true },
        { block: 9_000_000, balance: 1, paid: 1 },
      ],
      1,
    ],
    [
      'funded among the blocks that are not final',
      [{ block: 19_999_999, balance: 5, nonce: 1, paid: 9, sends: true }],
      19_999_999,
    ],
    ['delegated after it was funded', [funded, { block: 18_000_000, nonce: 1, code: delegation }], funded.block],
  ]
  for (const [name, life, block] of histories) {
    test(name, async (context) => {
      const found = await search(life, options)
      assert.equal(found.block, block)
      assert.ok(found.calls <= 64, `${found.calls} calls`)
      context.diagnostic(`${found.calls} calls`)
    })
  }
})

describe('what is not a transfer', () => {
  test('a withdrawal, a block reward, an uncle reward and a genesis balance are skipped', async () => {
    const paid = { block: 80, paid: 7 }
    assert.equal(
      (
        await search([
          { block: 0, balance: 3 },
          { ...paid, balance: 10 },
        ])
      ).block,
      80,
    )
    assert.equal(
      (
        await search([
          { block: 30, balance: 3, mines: true },
          { ...paid, balance: 10 },
        ])
      ).block,
      80,
    )
    assert.equal(
      (
        await search([
          { block: 30, balance: 3, minesUncle: true },
          { ...paid, balance: 10 },
        ])
      ).block,
      80,
    )
    const withdrawn = { block: 30, balance: 2n * gwei, withdrawnGwei: 2 }
    assert.equal((await search([withdrawn, { ...paid, balance: 2n * gwei + 7n }])).block, 80)
    assert.equal((await search([withdrawn])).block, undefined)
  })

  test('a withdrawal in the block of the first transfer', async () => {
    assert.equal((await search([{ block: 30, balance: 2n * gwei + 7n, withdrawnGwei: 2, paid: 7 }])).block, 30)
  })

  test('a chain that begins later: what the account had before is not searched', async () => {
    const life = [
      { block: 10, balance: 7, paid: 7 },
      { block: 80, balance: 9, paid: 2 },
    ]
    assert.equal((await search(life, { firstBlock: 50 })).block, 80)
    assert.equal((await search(life)).block, 10)
  })
})

describe('a block that does not explain the change is an error that names it', () => {
  const unexplained: readonly [name: string, moment: AccountEvent][] = [
    ['a balance without a transfer', { block: 40, balance: 7 }],
    ['a balance that is larger than the transfer', { block: 40, balance: 7, paid: 5 }],
    ['a balance that is smaller than the transfer', { block: 40, balance: 3, paid: 5 }],
    ['a nonce without a transaction', { block: 40, nonce: 1 }],
    ['a nonce that rises too little', { block: 40, nonce: 0, balance: 5, paid: 5, sends: true }],
  ]
  for (const [name, moment] of unexplained)
    test(name, () => assertSearchFails([moment], {}, 'explorer.unexplained_block', /Block 40 changed this account/))
})

describe('a contract or a delegated account', () => {
  const created = { block: 40, nonce: 1, code: contractCode }
  const passesOn = { block: 55, paid: 9, passedOn: 9 }
  const later = { block: 70, balance: 4, paid: 4 }

  test('without trace_filter is an error that names the remedy', async () => {
    await assertSearchFails(
      [created, later],
      {},
      'explorer.needs_index',
      /is a contract\. Use a node with trace_filter, or index/,
    )
    const delegated = [{ block: 40, nonce: 1, code: delegation }, later]
    await assertSearchFails(
      delegated,
      {},
      'explorer.needs_index',
      /delegated \(EIP-7702\) before it was funded\. Use a node/,
    )
  })

  test('a node that has not reached firstBlock is an error that names the setting', async () => {
    await assertSearchFails(
      [later],
      { head: 100, firstBlock: 101 },
      'explorer.needs_index',
      /is at block 100, before firstBlock 101\. Wait until the node has caught up, or correct explorer\.chains/,
    )
  })

  test('is looked up with trace_filter, also when it passed on everything in the same block', async () => {
    for (const code of [contractCode, delegation]) {
      for (const filterBlocks of [1_000_000, 101]) {
        const life = [{ ...created, code }, passesOn, later]
        assert.equal((await search(life, { filterBlocks, head: 100 })).block, 55)
        assert.equal((await search([{ ...created, code }, later], { filterBlocks })).block, 70)
        assert.equal((await search([{ ...created, code }], { filterBlocks })).block, undefined)
      }
    }
  })

  // docs/security.md#execution-nodes
  test('if trace_filter leaves out a transfer that was passed on in the same block, a later one is found', async () => {
    const options = { filterBlocks: 1_000_000, head: 100, lacks: [55] }
    assert.equal((await search([created, passesOn, later], options)).block, 70)
  })

  test('paid by withdrawals first', async () => {
    const life = [
      created,
      { block: 50, balance: 2n * gwei, withdrawnGwei: 2 },
      { block: 60, balance: 5n * gwei, withdrawnGwei: 3 },
      { block: 65, balance: 1n * gwei, passedOn: Number(4n * gwei) },
      { block: 70, balance: 1n * gwei + 4n, paid: 4 },
    ]
    assert.equal((await search(life, withFilter)).block, 70)
    assert.equal((await search(life.slice(0, 4), withFilter)).block, undefined)
  })

  test('a list without the first transfer is rejected', async () => {
    const paid = { block: 55, balance: 9, paid: 9 }
    const options = { ...withFilter, lacks: [55] }
    await assertSearchFails(
      [created, paid, { block: 70, balance: 13, paid: 4 }],
      options,
      'explorer.needs_index',
      /up to block 55/,
    )
    await assertSearchFails([created, paid], options, 'explorer.needs_index', /does not list all transfers/)
  })

  test('delegated after a withdrawal, then paid', async () => {
    const life = [
      { block: 20, balance: 2n * gwei, withdrawnGwei: 2 },
      { block: 40, nonce: 1, code: delegation },
      { block: 70, balance: 2n * gwei + 4n, paid: 4 },
    ]
    assert.equal((await search(life, withFilter)).block, 70)
    await assertSearchFails(life, {}, 'explorer.needs_index', /delegated/)
  })

  test('a delegation that was revoked before the first transfer', async () => {
    const life = [
      { block: 20, nonce: 1, code: delegation },
      { block: 30, nonce: 2, code: '0x' },
      { block: 77, balance: 1, paid: 1 },
    ]
    assert.equal((await search(life, withFilter)).block, 77)
    await assertSearchFails(life, {}, 'explorer.needs_index', /delegated/)
  })

  test('that destroyed itself leaves no state, which is the documented limit; if the search meets it, it is an error', async () => {
    const destroyed = [created, { ...later, block: 50 }, { block: 70, nonce: 0, balance: 0, passedOn: 4, code: '0x' }]
    const refunded = [...destroyed, { block: 80, balance: 6, paid: 6 }]
    assert.deepEqual([(await search(destroyed)).block, (await search(refunded)).block], [undefined, 80])
    await assert.rejects(search(refunded, {}, 50), /destroyed itself. Use a node with trace_filter/)
    assert.equal((await search(refunded, withFilter, 50)).block, 50)
  })

  test('that destroyed itself is found with trace_filter, whether or not it was paid later', async () => {
    const destroyed = [created, { ...later, block: 50 }, { block: 70, nonce: 0, balance: 0, passedOn: 4, code: '0x' }]
    const refunded = [...destroyed, { block: 80, balance: 6, paid: 6 }]
    for (const filterBlocks of [1_000_000, 101]) {
      const found = [await search(destroyed, { filterBlocks }), await search(refunded, { filterBlocks })]
      assert.deepEqual(
        found.map(({ block, isFinal }) => [block, isFinal]),
        [
          [50, true],
          [50, true],
        ],
      )
    }
  })

  test('that destroyed itself in the block of its first funding is found with trace_filter', async () => {
    const empty = { block: 20, nonce: 2, balance: 0, code: contractCode }
    const end = { block: 50, nonce: 0, balance: 0, paid: 5, code: '0x' }
    assert.equal((await search([empty, { ...end, passedOn: 5 }], withFilter)).block, 50)
    // What a contract sends to itself while it destroys itself is gone.
    assert.equal((await search([empty, end], withFilter)).block, 50)
    // It was created again in the same block.
    const again = { ...end, nonce: 1, passedOn: 5, code: contractCode }
    assert.equal((await search([empty, again], withFilter)).block, 50)
  })

  test('that destroyed itself in the transaction that created it is found with trace_filter', async () => {
    assert.equal((await search([passesOn])).block, undefined)
    assert.equal((await search([passesOn], withFilter)).block, 55)
    // The bisection meets the contract only after a withdrawal.
    const life = [passesOn, { block: 60, balance: 2n * gwei, withdrawnGwei: 2 }, { ...created, block: 70 }]
    const ended = [...life, { block: 75, nonce: 0, balance: 1, passedOn: Number(2n * gwei) - 1, code: '0x' }]
    assert.equal((await search([...ended, { block: 80, balance: 5n * gwei, paid: 1 }], withFilter)).block, 55)
  })
})

describe('trace_filter is asked about an account that never sent a transaction', () => {
  const options = { head: 20_000_000, final: 19_999_936 }
  const funded = { block: 12_345_678, balance: 5, paid: 5 }
  const calls = async (life: readonly AccountEvent[], filterBlocks: number) =>
    (await search(life, { ...options, filterBlocks })).calls

  test('with one call, or several if it supports only short ranges', async () => {
    for (const life of [[], [funded]]) {
      const without = await calls(life, 0)
      assert.equal(await calls(life, 30_000_000), without + 1)
      const pages = Math.ceil((life[0]?.block ?? options.final) / 1_000_000)
      assert.equal(await calls(life, 1_000_000), without + pages)
    }
  })

  test('not if that takes too many calls, and not about one that sent a transaction', async () => {
    const sent = [funded, { block: 15_000_000, nonce: 1, balance: 1, sends: true as const }]
    assert.equal(await calls(sent, 30_000_000), await calls(sent, 0))
    for (const life of [[], [funded]]) assert.equal(await calls(life, 100_000), await calls(life, 0))
  })
})

describe('without traces', () => {
  test('a plain transfer is accepted if it explains the balance exactly', async () => {
    const { funding } = await search([{ block: 40, balance: 5, paid: 5 }], { traces: false })
    assert.deepEqual([funding?.block, funding?.funder, funding?.valueWei], [40, payer, 5n])
  })

  test('anything else is an error', async () => {
    for (const moment of [
      { block: 40, balance: 6, paid: 5 },
      { block: 40, balance: 3, nonce: 1, paid: 5, sends: true as const },
      { block: 40, balance: 5, paid: 5, mines: true as const },
    ])
      await assertSearchFails([moment], { traces: false }, 'explorer.no_traces', /block 40/)
  })
})

describe('finality', () => {
  test('"nothing" is as of the newest final block, and an error if the node reports none', async () => {
    const { funding, isFinal, asOf } = await search([])
    assert.deepEqual([funding, isFinal, asOf], [undefined, true, 90])
    await assertSearchFails(
      [],
      { final: undefined },
      'explorer.node_unavailable',
      /No transfer was found, but no node of chain 1 reports which block is final\. Set .*finalityBlocks\.$/,
    )
  })

  test('a funding in a block that is not final says so', async () => {
    const found = await search([{ block: 95, balance: 1, paid: 1 }])
    assert.deepEqual([found.block, found.isFinal, found.asOf], [95, false, 95])
  })
})

test('too many changes before the first transfer: an error that says how far the search came', async () => {
  const days = Array.from({ length: 400 }, (_, at): AccountEvent => {
    return { block: 10 + at * 200, balance: BigInt(at + 1) * gwei, withdrawnGwei: 1 }
  })
  const options = { head: 100_000, final: 99_900 }
  await assertSearchFails(
    days,
    options,
    'explorer.probe_bounds',
    /more than 1500 calls.*Blocks up to \d+ hold no transfer.*mode: index or both/,
  )
})
