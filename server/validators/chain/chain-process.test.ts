// What a chain process does with wrong blocks, with calls that take too long, and after it was killed. The chain of these
// tests has the mainnet preset, so that both engines can compute it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { readRules } from '#sources/beacon/consensus.ts'
import { isLongRun } from '#test/long.ts'
import { makeChain, type OpenedChain, skipWithoutNative } from '#test/made-chain.ts'
import { waitUntil } from '#test/wait-until.ts'
import {
  type ChainProcess,
  ChainProcessError,
  type ChainProcessOptions,
  ChainStoppedError,
  openChainProcess,
} from './chain-process.ts'
import { type EpochStart, readEpochStart } from './epoch-start.ts'
import type { AcceptedBlock, ChainStart, RefusalReason } from './messages.ts'
import { keysOfState, writeStateFile } from './state-files.ts'

const lastSlot = 70
/** The first slots of the epochs 1 and 2 are among them. */
const empty = [32, 40, 64]

let chain: OpenedChain

before(async () => {
  chain = await makeChain({ preset: 'mainnet', validators: 256, slots: lastSlot, empty })
})
after(() => chain[Symbol.asyncDispose]())

function open(engine: ChainStart['engine'], options: Partial<ChainProcessOptions> = {}): ChainProcess {
  const { spec, genesisValidatorsRoot, stateFile } = chain
  return openChainProcess({
    start: { spec, genesisValidatorsRoot, engine },
    clock: systemClock,
    restore: async (opened) => {
      await opened.call('loadState', { file: stateFile, stateRoot: undefined })
    },
    ...options,
  })
}

const send = (opened: ChainProcess, bytes: Uint8Array, root?: string) =>
  opened.call('processBlock', { bytes, root, newestSlot: lastSlot, signatures: 'all' })

async function accept(opened: ChainProcess, slot: number): Promise<AcceptedBlock> {
  const block = await send(opened, chain.block(slot))
  if (block.is === 'refused') assert.fail(`slot ${slot}: ${block.message}`)
  return block
}

async function acceptUntil(opened: ChainProcess, until: number): Promise<AcceptedBlock[]> {
  const accepted: AcceptedBlock[] = []
  for (const slot of chain.slots) if (slot < until) accepted.push(await accept(opened, slot))
  return accepted
}

/** All epoch starts of the chain. */
async function readEpochStarts(opened: ChainProcess, blocks: readonly AcceptedBlock[]): Promise<EpochStart[]> {
  const rules = readRules(chain.spec)
  const starts: EpochStart[] = []
  for (const id of blocks.flatMap(({ epochStarts }) => epochStarts))
    starts.push(await readEpochStart(opened, id, rules, starts.at(-1)))
  return starts
}

test('both engines compute the same epoch starts', { skip: skipWithoutNative }, async () => {
  const results: EpochStart[][] = []
  for (const engine of ['typescript', 'native'] as const) {
    await using opened = open(engine)
    results.push(await readEpochStarts(opened, await acceptUntil(opened, lastSlot + 1)))
    assert.equal((await opened.call('status', undefined)).engine, engine)
  }
  const [typescript, native] = results
  assert.deepEqual(
    typescript?.map(({ epoch, block }) => [epoch, block.slot]),
    [
      [1, 31],
      [2, 63],
    ],
  )
  assert.deepEqual(native, typescript)
})

test('a small network uses TypeScript', async () => {
  await using opened = open('auto')
  assert.equal((await opened.call('status', undefined)).engine, 'typescript')
})

for (const engine of ['typescript', 'native'] as const) {
  describe(`wrong blocks (${engine})`, { skip: engine === 'native' && skipWithoutNative }, () => {
    let opened: ChainProcess
    before(async () => {
      opened = open(engine)
      await acceptUntil(opened, lastSlot)
    })
    after(() => opened[Symbol.asyncDispose]())

    async function assertRefused(bytes: Uint8Array, reason: RefusalReason, root?: string): Promise<void> {
      const answer = await send(opened, bytes, root)
      assert.equal(answer.is === 'refused' ? answer.reason : 'accepted', reason)
    }
    const last = () => Buffer.from(chain.block(lastSlot))
    const withSlot = (slot: bigint) => {
      const bytes = last()
      bytes.writeBigUInt64LE(slot, 100)
      return bytes
    }

    test('a block that states another state root names both roots', async () => {
      const answer = await send(opened, chain.block('other-state'))
      assert.ok(answer.is === 'refused' && answer.reason === 'other-state' && answer.stateRoots)
      assert.equal(answer.stateRoots.stated, `0x${'00'.repeat(32)}`)
      assert.match(answer.stateRoots.computed, /^0x[0-9a-f]{64}$/)
      assert.equal(answer.block?.slot, lastSlot)
    })

    test('a block that breaks a rule, although its proposer has signed it', async () => {
      await assertRefused(chain.block('invalid'), 'invalid')
      await assertRefused(chain.block('invalid-vote'), 'invalid')
    })

    test('signatures of votes are not verified if only those of proposers are', async () => {
      const input = { bytes: chain.block('invalid-vote'), root: undefined, newestSlot: lastSlot }
      const answer = await opened.call('processBlock', { ...input, signatures: 'proposer' })
      // The changed vote is valid, but the block states the state without it.
      assert.equal(answer.is === 'refused' && answer.reason, 'other-state')
    })

    test('a block of another validator, or without the signature of its proposer', async () => {
      await assertRefused(chain.block('wrong-proposer'), 'wrong-proposer')
      const bytes = last()
      bytes.set(chain.block(lastSlot - 1).subarray(4, 100), 4)
      await assertRefused(bytes, 'wrong-signature')
    })

    test('a slot in the future, up to the largest', async () => {
      for (const slot of [lastSlot + 1, 2 ** 40, 2 ** 52, 2 ** 53])
        await assertRefused(withSlot(BigInt(slot)), 'future')
      await assertRefused(withSlot(2n ** 64n - 1n), 'future')
    })

    test('a block without a known parent, or not the one that was asked for', async () => {
      const bytes = last()
      bytes.fill(1, 116, 148)
      await assertRefused(bytes, 'unknown-parent')
      await assertRefused(last(), 'other-root', `0x${'11'.repeat(32)}`)
    })

    test('bytes that are not a block, with offsets up to 64 MiB', async () => {
      await assertRefused(new Uint8Array(), 'malformed')
      await assertRefused(last().subarray(0, 500), 'malformed')
      await assertRefused(Buffer.alloc(64 * 1024 * 1024, last()), 'malformed')
      // The offsets of the message, and of lists in the body.
      for (const at of [0, 180, 384, 388, 392, 396, 400])
        for (const offset of [0, 1, 64 * 1024 * 1024, 2 ** 32 - 1]) {
          const bytes = last()
          bytes.writeUInt32LE(offset, at)
          await assertRefused(bytes, 'malformed')
        }
    })

    test(`${isLongRun ? 10_000 : 300} altered blocks are refused, and the right one is accepted afterwards`, async () => {
      const draws = createSeededRandom('altered blocks')
      const pid = opened.pid
      const messageAt = 100
      let isHeld = false
      for (let count = isLongRun ? 10_000 : 300; count > 0; count--) {
        const bytes = last()
        for (let changes = draws.whole(1, 4); changes > 0; changes--)
          bytes[draws.whole(0, bytes.length)] = draws.whole(0, 256)
        if (draws.happens(0.1)) bytes.fill(draws.whole(0, 256), draws.whole(0, bytes.length))
        const answer = await send(opened, bytes)
        if (answer.is !== 'accepted') continue
        // Some changes change nothing. Once the block is held, it is accepted again, whatever its signature is.
        assert.ok(bytes.subarray(messageAt).equals(last().subarray(messageAt)))
        assert.ok(isHeld || bytes.equals(last()))
        isHeld = true
      }
      await accept(opened, lastSlot)
      assert.equal(opened.pid, pid, 'the process has not ended')
    })
  })
}

test('the decoded keys beside a state are used if they are intact and of its chain', {
  skip: skipWithoutNative,
}, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-keys-'))
  await using other = await makeChain({ preset: 'mainnet', validators: 300, slots: 1, firstKey: 7 })
  await using opened = open('native')
  const { root } = await accept(opened, 1)
  const file = join(folder.path, '1.ssz.zst')
  const { stateRoot } = await opened.call('saveState', { root, file })
  const [keysName = ''] = (await readdir(folder.path)).filter((name) => name.endsWith('.keys'))
  const keysFile = { file: join(folder.path, keysName), count: 256 }
  assert.deepEqual(await keysOfState(file), keysFile)
  assert.equal(
    keysName,
    `${createHash('sha256')
      .update(await readFile(keysFile.file))
      .digest('hex')}-256.keys`,
  )
  const acceptFrom = async (slot: number) => {
    await using again = open('native', {
      restore: async (caller) => {
        await caller.call('loadState', { file, stateRoot })
      },
    })
    await accept(again, slot)
  }
  await acceptFrom(2)
  const otherFile = join(folder.path, 'other.ssz.zst')
  await writeStateFile(otherFile, await readFile(other.stateFile), keysFile)
  await using elsewhere = open('native', {
    start: { ...pick(other), engine: 'native' },
    restore: async (caller) => {
      await caller.call('loadState', { file: otherFile, stateRoot: undefined })
    },
  })
  const block = await send(elsewhere, other.block(1))
  assert.equal(block.is === 'refused' ? block.message : block.is, 'accepted')
  await writeFile(keysFile.file, 'not keys')
  await acceptFrom(2)
  assert.deepEqual((await readdir(folder.path)).sort(), ['1.ssz.zst', 'other.ssz.zst'], 'damaged keys are deleted')
  await acceptFrom(2)
})

const pick = ({ spec, genesisValidatorsRoot }: OpenedChain) => ({ spec, genesisValidatorsRoot })

describe('a process that ends', () => {
  test('is started again by the next call, from the restored state', async () => {
    await using opened = open('typescript')
    await acceptUntil(opened, 5)
    process.kill(opened.pid ?? 0, 'SIGKILL')
    await assert.rejects(async () => {
      // The call may be made before the end is noticed.
      for (;;) await opened.call('status', undefined).then(({ states }) => assert.ok(states.length > 1, 'restarted'))
    })
    const answer = await send(opened, chain.block(5))
    assert.equal(answer.is === 'refused' && answer.reason, 'unknown-parent')
    await acceptUntil(opened, 6)
  })

  test('a call that takes too long ends the process', async () => {
    const deaths: string[] = []
    await using opened = open('typescript', { onDeath: (reason) => deaths.push(reason) })
    const [{ root } = { root: '' }] = (await opened.call('status', undefined)).states
    const endless = opened.call('advance', { epoch: 2 ** 40, root }, { timeoutMs: 300 })
    const queued = opened.call('status', undefined)
    await assert.rejects(endless, ChainProcessError)
    await assert.rejects(queued, ChainProcessError)
    assert.deepEqual(deaths, ['advance took more than 300 ms'])
    await acceptUntil(opened, 3)
  })

  test('three times within ten minutes is not started again', async () => {
    let nowMs = 0
    await using opened = open('typescript', { clock: { ...systemClock, monotonicMs: () => nowMs } })
    const hang = async () => {
      const [{ root } = { root: '' }] = (await opened.call('status', undefined)).states
      await opened.call('advance', { epoch: 2 ** 40, root }, { timeoutMs: 100 })
    }
    await assert.rejects(hang, ChainProcessError)
    nowMs += 600_001
    await assert.rejects(hang, { name: 'ChainProcessError' })
    await assert.rejects(hang, { name: 'ChainProcessError' })
    await assert.rejects(hang, ChainStoppedError)
    await assert.rejects(opened.call('status', undefined), ChainStoppedError)
    assert.equal(opened.pid, undefined)
  })

  test('a state with another root than the expected one is refused', async () => {
    await using opened = open('typescript', {
      restore: async (caller) => {
        await caller.call('loadState', { file: chain.stateFile, stateRoot: `0x${'11'.repeat(32)}` })
      },
    })
    await assert.rejects(
      opened.call('status', undefined),
      /the state of slot 0 has the root 0x[0-9a-f]{64}, not 0x1111/,
    )
  })
})

test('the process ends with the server, even during a call that never returns', {
  skip: process.platform !== 'linux' && 'the CPU time of another process is read from /proc',
}, async () => {
  const { spec, genesisValidatorsRoot, stateFile } = chain
  const start = JSON.stringify({ spec, genesisValidatorsRoot, engine: 'typescript' })
  const code = `
    const { openChainProcess } = await import(${JSON.stringify(new URL('./chain-process.ts', import.meta.url).href)})
    const { systemClock } = await import('#runtime/clock.ts')
    const opened = openChainProcess({ start: ${start}, clock: systemClock, restore: async (caller) => {
      await caller.call('loadState', { file: ${JSON.stringify(stateFile)}, stateRoot: undefined })
    } })
    const [{ root }] = (await opened.call('status', undefined)).states
    void opened.call('advance', { epoch: 2 ** 40, root })
    console.log(opened.pid)`
  const server = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: join(import.meta.dirname, '../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = Number(await new Promise((resolve) => server.stdout.once('data', resolve)))
  // It has begun the call when it works without a pause.
  const startTicks = cpuTicks(pid)
  await waitUntil(() => cpuTicks(pid) > startTicks + 100)
  server.kill('SIGKILL')
  await waitUntil(() => !isAlive(pid))
})

/** CPU time of a process, in hundredths of a second. */
const cpuTicks = (pid: number): number => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13])

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
