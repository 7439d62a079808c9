import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { credentialsSize, pubkeySize } from '#sources/beacon/validator-keys.ts'
import { type StateRecord, StateRecords } from './state-records.ts'

async function openFolder() {
  const parent = await mkdtemp(join(tmpdir(), 'tetrad-records-'))
  return { dir: join(parent, 'beacon', 'hoodi'), [Symbol.asyncDispose]: () => rm(parent, { recursive: true }) }
}

const rootOf = (digit: number): string => `0x${String(digit).repeat(64)}`

/** The keys of validators with an index from `otherFrom` on are those of another fork. */
function recordOf(epoch: number, count: number, { root = rootOf(epoch % 10), otherFrom = count } = {}): StateRecord {
  const column = (from: number) => Float64Array.from({ length: count }, (_, index) => from + index)
  const bytes = (size: number, from: number) =>
    Uint8Array.from(
      { length: count * size },
      (_, at) => from + Math.floor(at / size) + (at >= otherFrom * size ? 100 : 0),
    )
  return {
    epoch,
    anchor: { slot: epoch * 32, root },
    boundary: {
      validators: {
        count,
        balance: column(32e9 + epoch),
        increments: new Uint32Array(count).fill(32),
        slashed: new Uint8Array(count),
        eligible: column(0),
        activation: column(1),
        exit: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
        withdrawable: new Float64Array(count).fill(Number.POSITIVE_INFINITY),
        pubkeys: bytes(pubkeySize, 1),
        credentials: bytes(credentialsSize, 2),
        pending: { deposits: Uint8Array.of(1, 2, 3), consolidations: new Uint8Array() },
        scores: undefined,
      },
      awaitsRewards: true,
    },
    committees: { firstSlot: epoch * 32, perSlot: 1, members: [Uint32Array.of(1, 2), Uint32Array.of(0)] },
    proposers: Int32Array.of(2, -1),
    sync: Uint32Array.of(0, 0, 1),
    finalizedEpoch: epoch - 2,
  }
}

test('a record is returned as it was written, also by another process, and only for its anchor block', async () => {
  await using folder = await openFolder()
  const record = recordOf(5, 4)
  const records = new StateRecords(folder.dir)
  assert.equal(await records.read(5, record.anchor.root), undefined)
  await records.write(record)
  for (const reader of [records, new StateRecords(folder.dir)]) {
    assert.deepEqual(await reader.read(5, record.anchor.root), record)
    assert.equal(await reader.has(5, record.anchor.root), true)
    assert.equal(await reader.read(5, rootOf(9)), undefined)
    assert.equal(await reader.read(6, record.anchor.root), undefined)
  }
})

test('records share the file of public keys, and those of consecutive records share their memory', async () => {
  await using folder = await openFolder()
  const records = new StateRecords(folder.dir)
  for (const [epoch, count] of [
    [5, 4],
    [6, 6],
    [7, 5],
  ] as const)
    await records.write(recordOf(epoch, count))
  assert.equal((await readFile(join(folder.dir, 'pubkeys'))).length, 6 * pubkeySize)
  const [five, six] = [await records.read(5, rootOf(5)), await records.read(6, rootOf(6))]
  assert.deepEqual([five, six], [recordOf(5, 4), recordOf(6, 6)])
  assert.equal(five?.boundary.validators.pubkeys.buffer, six?.boundary.validators.pubkeys.buffer)
})

test('if another fork has other public keys, records that do not match them are ignored', async () => {
  await using folder = await openFolder()
  const records = new StateRecords(folder.dir)
  const [shared, abandoned] = [recordOf(5, 3), recordOf(6, 5)]
  const canonical = recordOf(6, 5, { root: rootOf(9), otherFrom: 4 })
  for (const record of [shared, abandoned, canonical]) await records.write(record)
  assert.deepEqual(await records.read(5, shared.anchor.root), shared)
  assert.deepEqual(await records.read(6, canonical.anchor.root), canonical)
  assert.equal(await records.has(6, abandoned.anchor.root), false)
  assert.equal(await records.read(6, abandoned.anchor.root), undefined)
})

test('records that are damaged at any byte, truncated or of another version are ignored', async () => {
  await using folder = await openFolder()
  const { anchor } = recordOf(5, 4)
  await new StateRecords(folder.dir).write(recordOf(5, 4))
  const file = join(folder.dir, `5-${anchor.root.slice(2)}`)
  const intact = await readFile(file)
  const expectIgnored = async (reason: string) => {
    const records = new StateRecords(folder.dir)
    assert.equal(await records.has(5, anchor.root), false, reason)
    assert.equal(await records.read(5, anchor.root), undefined, reason)
  }
  for (let at = 0; at < intact.length; at += 7) {
    const damaged = Buffer.from(intact)
    damaged[at] = (damaged[at] as number) ^ 1
    await writeFile(file, damaged)
    await expectIgnored(`byte ${at}`)
  }
  for (const length of [0, 10, 40, intact.length - 1]) {
    await writeFile(file, intact)
    await truncate(file, length)
    await expectIgnored(`${length} bytes`)
  }
  await writeFile(file, intact)
  await truncate(join(folder.dir, 'pubkeys'), 4 * pubkeySize - 1)
  await expectIgnored('public keys are incomplete')
  await new StateRecords(folder.dir).write(recordOf(6, 4))
  assert.deepEqual(await new StateRecords(folder.dir).read(5, anchor.root), recordOf(5, 4))
})

test('old records and unfinished files are deleted', async () => {
  await using folder = await openFolder()
  const records = new StateRecords(folder.dir)
  assert.deepEqual(await records.epochs(), [])
  await records.removeBefore(3)
  for (const epoch of [2, 10, 9]) await records.write(recordOf(epoch, 2))
  await records.write(recordOf(9, 2, { root: rootOf(1) }))
  await writeFile(join(folder.dir, '11-abc.tmp'), 'x')
  assert.deepEqual(await records.epochs(), [2, 9, 10])
  await records.removeBefore(10)
  assert.deepEqual((await readdir(folder.dir)).sort(), [`10-${'0'.repeat(64)}`, 'pubkeys'])
  assert.equal(await records.has(9, rootOf(9)), false)
})
