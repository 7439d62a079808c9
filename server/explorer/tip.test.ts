// Several nodes of a chain whose heads differ (behaviour/explorer.md#nodes-that-are-behind). The nodes only return headers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { headMaxAgeMs } from '#runtime/settings/explorer.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { settingsWith } from '#test/context.ts'
import { readTip } from './tip.ts'

const blockSeconds = 12
const nowMs = Date.UTC(2026, 10, 15, 12)
const nowBlock = 1000
const timeOf = (block: number) => nowMs / 1000 - blockSeconds * (nowBlock - block)
const hex = (value: number) => `0x${value.toString(16)}`
const hashOf = (fork: string, block: number) => `0x${fork}${block.toString(16).padStart(63, '0')}`

interface NodeOptions {
  readonly head?: number
  /** Undefined: it reports none. */
  readonly final?: number | undefined
  /** A digit in the hash of each of its blocks. */
  readonly fork?: string
  readonly isSilent?: true
}

function readFrom(
  nodes: readonly NodeOptions[],
  chain: object = {},
  clock: Clock = { ...systemClock, now: () => nowMs },
) {
  const urls = nodes.map((_, at) => `http://node-${at}/`)
  const settings = settingsWith({
    explorer: {
      chains: [{ id: '1', name: 'One', rpc: urls.map((url) => ({ url })), headMaxAgeMs: 300_000, ...chain }],
    },
  })
  const [options = assert.fail()] = settings.explorer.chains
  const rpc = openRpc({
    chain: '1',
    rpc: options.rpc,
    clock,
    backoffMs: 0,
    async post(url, { body = '' }) {
      const { head = nowBlock, final, fork = '0', isSilent } = nodes[urls.indexOf(url)] ?? assert.fail(url)
      if (isSilent) await new Promise(() => {})
      const reply = ({ id, method, params }: { id: number; method: string; params: string[] }) => {
        if (method === 'eth_chainId') return { id, result: '0x1' }
        const block = params[0] === 'latest' ? head : params[0] === 'finalized' ? final : Number(params[0])
        if (block === undefined || block > head) return { id, error: { code: -32000, message: 'header not found' } }
        const parentHash = hashOf(fork, block - 1)
        return {
          id,
          result: { number: hex(block), hash: hashOf(fork, block), parentHash, timestamp: hex(timeOf(block)) },
        }
      }
      const requests = [JSON.parse(body)].flat()
      return JSON.stringify(requests.map(reply))
    },
  })
  return readTip(rpc, options, clock)
}

const summaryOf = async (read: ReturnType<typeof readFrom>) => {
  const { head, final, doubt, first, second, behind } = await read
  return { head: head.number, final: final?.number, doubt, first, second, behind: [...behind.keys()] }
}

describe('a node that is clearly behind', () => {
  const lagging = { head: 910, final: 850 }
  const good = { head: 1000, final: 940 }

  test('is not asked for the head, wherever it is listed; its own head is stale, so the other one decides what is final', async () => {
    const expected = { head: 1000, final: 940, doubt: undefined, second: undefined }
    assert.deepEqual(await summaryOf(readFrom([lagging, good])), { ...expected, first: 1, behind: [0] })
    assert.deepEqual(await summaryOf(readFrom([good, lagging])), { ...expected, first: 0, behind: [1] })
    const { behind } = await readFrom([lagging, good])
    assert.equal(behind.get(0), 'behind: its newest block is 910, another node is at 1000')
  })

  test('takes part in what is final if the age of heads is not checked', async () => {
    const read = readFrom([lagging, good], { headMaxAgeMs: 0 })
    assert.deepEqual(await summaryOf(read), {
      head: 1000,
      final: 850,
      doubt: undefined,
      first: 1,
      second: 0,
      behind: [0],
    })
  })

  test('is none that is a few blocks behind: then the head is a block that both have', async () => {
    const read = readFrom([good, { head: 997, final: 940 }])
    assert.deepEqual(await summaryOf(read), {
      head: 997,
      final: 940,
      doubt: undefined,
      first: 0,
      second: 1,
      behind: [],
    })
  })
})

describe('a node that claims to be ahead', () => {
  test('does not make a block final, and the other node is asked as well', async () => {
    const liar = { head: 1020, final: 1019 }
    for (const chain of [{}, { headMaxAgeMs: 0 }]) {
      const read = summaryOf(readFrom([liar, { head: 1000, final: 940 }], chain))
      assert.deepEqual(await read, { head: 1020, final: 940, doubt: undefined, first: 0, second: 1, behind: [1] })
    }
  })

  test('with other blocks leaves no block final', async () => {
    const { final, doubt } = await readFrom([
      { head: 1020, final: 1019, fork: 'a' },
      { head: 1000, final: 940 },
    ])
    assert.equal(final, undefined)
    assert.match(doubt ?? '', /no other node has the final block 1019 of http:\/\/node-0/)
  })

  test('with other blocks does not matter if two others agree', async () => {
    const nodes = [{ final: 999, fork: 'a' }, { final: 940 }, { final: 908 }]
    const { final, doubt } = await readFrom(nodes)
    assert.deepEqual([final?.number, final?.hash, doubt], [908, hashOf('0', 908), undefined])
  })
})

describe('a head', () => {
  test('that is older than headMaxAgeMs, or in the future, supports nothing final', async () => {
    for (const [head, pattern] of [
      [nowBlock - 26, /^its newest block, 974, is 5 min old$/],
      [nowBlock + 26, /^its newest block, 1026, is 5 min ahead of this clock$/],
    ] as const) {
      assert.match((await readFrom([{ head, final: 900 }])).doubt ?? '', pattern)
      assert.equal((await readFrom([{ head, final: 900 }], { headMaxAgeMs: 0 })).doubt, undefined)
    }
    assert.equal((await readFrom([{ head: nowBlock - 25, final: 900 }])).doubt, undefined)
  })

  test('is checked by default for known chains only', () => {
    const ages = ['1', '137', '560048', '31337', '4326'].map((id) => headMaxAgeMs({ id }))
    assert.deepEqual(ages, [300_000, 300_000, 300_000, 0, 0])
    assert.deepEqual([headMaxAgeMs({ id: '1', headMaxAgeMs: 0 }), headMaxAgeMs({ id: '5', headMaxAgeMs: 7 })], [0, 7])
  })
})

describe('finality', () => {
  test('is that of the node that answers, if no other one does', async () => {
    const hurried: Clock = { ...systemClock, now: () => nowMs, sleep: () => systemClock.sleep(20) }
    const read = readFrom([{ isSilent: true }, { final: 940 }], {}, hurried)
    assert.deepEqual(await summaryOf(read), {
      head: 1000,
      final: 940,
      doubt: undefined,
      first: 1,
      second: undefined,
      behind: [],
    })
  })

  test('of one node needs the block in the other one, if that reports none', async () => {
    assert.equal((await readFrom([{ final: 940 }, { final: undefined }])).final?.number, 940)
    assert.equal((await readFrom([{ final: 999 }, { head: 998 }])).final, undefined)
    assert.equal((await readFrom([{}, {}])).doubt, undefined)
  })
})
