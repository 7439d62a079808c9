// `tetrad validators explain`, `income` and `compare`, with and without a running server.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { storeRates } from '#fx/rates/rate-store.ts'
import { startOperations } from '#operations/start.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { createContext } from '#server/context.ts'
import { openStores } from '#storage/open.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { settingsWith } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { readValidator } from '#validators/registry/registry.ts'
import { dayText } from './validators.ts'

/** A recorded network that has been ingested, in days of four epochs. Validator 1 misses the vote of epoch 7. */
async function openScene(watch: readonly string[] = []) {
  const node = await openReplay()
  const folder = await openFolder()
  const beacon = { urls: [node.url], acceptAnyChain: true, fromEpoch: 0, everyMs: 3_600_000 }
  const settings = {
    validators: { networks: { hoodi: { states: 'node', epochsPerHour: 2, epochsPerDay: 4, beacon, watch } } },
  }
  await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify(settings))
  const runInFolder = (...args: string[]) => runCommand(args, { cwd: folder.dir })
  const { code, stderr } = await runInFolder('ingest', 'beacon', '--network', 'hoodi', '--once')
  assert.equal(code, 0, stderr)
  return {
    dir: folder.dir,
    settings,
    run: (...args: string[]) => runInFolder('validators', ...args, '--network', 'hoodi'),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

let at: Awaited<ReturnType<typeof openScene>>
before(async () => {
  at = await openScene()
})
after(() => at[Symbol.asyncDispose]())

test('explain shows missed duties, by index or key, as text and as JSON', async () => {
  const { code, stdout, stderr } = await at.run('explain', '1', '--from-day', '1', '--to-day', '1', '--json')
  assert.equal(code, 0, stderr)
  const { validatorIndex, results, coverage } = JSON.parse(stdout)
  assert.deepEqual([validatorIndex, results.length, coverage], [1, 1, 'complete'])
  const [day] = results
  assert.deepEqual([day.day, day.totalAttestationAssignments, day.sumMissedAttestations], [1, 4, 1])
  assert.deepEqual(day.epochs.find(({ epoch }: { epoch: number }) => epoch === 7).vote, {
    slot: 56,
    included: false,
    delay: null,
    bestDelay: 1,
    nextBlockMissing: false,
    targetCorrect: null,
    headCorrect: null,
  })
  const plain = await at.run('explain', '1', '--from-day', '1', '--to-day', '1')
  assert.match(plain.stdout, /^validator 1, hoodi\n\nday 1 {2}\S+ {2}\d\d\.\d\d {2}3 of 4 votes, 1 missed/)
  assert.match(plain.stdout, /\n {2}epoch 7: the vote of slot 56 is missing\n/)
  const stores = await openStores(join(at.dir, 'data'))
  const validator = await readValidator(stores.ingest, 'hoodi', 1)
  await stores.close()
  const byKey = await at.run('explain', validator?.pubkey ?? '', '--from-day', '1', '--to-day', '1')
  assert.equal(byKey.stdout, plain.stdout)
  const paged = await at.run('explain', '1', '--limit', '1')
  assert.match(paged.stderr, /For more days, add --offset 1\./)
})

test('explain lists the blocks since Gloas, with builder, delivery and payment', async () => {
  const { stdout } = await at.run('explain', '1', '--from-day', '1', '--to-day', '1', '--json')
  const [day] = JSON.parse(stdout).results
  const block = { slot: 56, payload: 'full', builder: null, valueGwei: 0, paid: null } as const
  const linesOf = (...proposals: object[]) =>
    dayText({ ...day, epochs: [], proposals })
      .split('\n')
      .slice(2)
  assert.deepEqual(
    linesOf(
      block,
      { ...block, payload: 'empty', builder: 3, valueGwei: 70_000_000, paid: true },
      { ...block, payload: 'empty', builder: 3, valueGwei: 70_000_000, paid: false },
      { ...block, payload: 'unknown', builder: 3, valueGwei: 5 },
    ),
    [
      '  block in slot 56: payload built by itself, part of the chain',
      '  block in slot 56: payload of builder 3, 70000000 gwei paid, not part of the chain',
      '  block in slot 56: payload of builder 3, 70000000 gwei not paid, not part of the chain',
      '  block in slot 56: payload of builder 3, not decided yet',
    ],
  )
})

test('explain marks epochs that are not final', async () => {
  const { stdout } = await at.run('explain', '1', '--from-day', '1', '--to-day', '1', '--json')
  const [day] = JSON.parse(stdout).results
  const epochs = day.epochs.map((epoch: object) => ({ ...epoch, final: false }))
  assert.match(dayText({ ...day, epochs }), /\n {2}epoch 7 \(not final\): the vote of slot 56 is missing$/)
})

/** Errors name the options, not the fields of the endpoint. */
async function refusals(): Promise<void> {
  const cases: [code: number, words: string[], expected: RegExp][] = [
    [1, ['zz'], /^tetrad: The validator must be a validator index, or a public key/],
    [1, ['1', '--from-day', '2', '--to-day', '1'], /^tetrad: --from-day must not be after --to-day/],
    [
      1,
      ['1', '--from-date', '2026-02-02', '--to-date', '2026-02-01'],
      /^tetrad: --from-date must not be after --to-date/,
    ],
    [1, ['1', '--to-date', '2026-02-30'], /^tetrad: --to-date must be a date, YYYY-MM-DD/],
    [2, ['1', '--limit', '101'], /'--limit <n>'.* It must be 1 to 100\./],
  ]
  for (const [code, words, expected] of cases) {
    const refused = await at.run('explain', ...words)
    assert.equal(refused.code, code)
    assert.match(refused.stderr, expected)
  }
}

test('without a running server, errors of explain name the options', () => refusals())

test('with a running server, the command gets the same results over its control socket', async () => {
  const args = ['explain', '1', '--json'] as const
  const before = await at.run(...args)
  assert.equal(before.code, 0, before.stderr)
  const dataDir = join(at.dir, 'data')
  const stores = await openStores(dataDir)
  const world = { clock: systemClock, random: systemRandom, log: silentLog }
  const plain = { ...stores, duties: dutiesOnThisThread(stores.duties), ...world, settings: settingsWith(at.settings) }
  const context = createContext({ ...plain, settings: await withChainTimes(plain) })
  const operations = await startOperations(context, { dataDir, version: '1' })
  try {
    assert.deepEqual(await at.run(...args), before)
    await refusals()
  } finally {
    await operations[Symbol.asyncDispose]()
    await stores.close()
  }
})

test('explain names the network of a validator that does not exist', async () => {
  const unknown = await at.run('explain', '999')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /Validator 999 does not exist on hoodi/)
})

test('income adds up to the balance, as text, CSV and JSON', async () => {
  const { code, stdout, stderr } = await at.run('income', '1', '2,3', '--chain-days', '--json')
  assert.equal(code, 0, stderr)
  const { validators, days, total, coverage } = JSON.parse(stdout)
  assert.deepEqual([validators, days.length, coverage], [3, 4, 'complete'])
  assert.equal(
    days.reduce((sum: number, day: { earnings: number }) => sum + day.earnings, 0),
    total.balanceChange,
  )
  const csv = await at.run('income', '1', '2,3', '--chain-days', '--csv')
  const [header, first, ...others] = csv.stdout.trimEnd().split('\n')
  assert.match(header ?? '', /^date,startEpoch,endEpoch,attestationRewards,.*,balanceChange,priorityFees,mev$/)
  assert.match(first ?? '', new RegExp(`^${days[0].date},0,3,${days[0].attestationRewards},.*,,$`))
  assert.equal(others.length, 3)
  const plain = await at.run('income', '1', '2,3', '--chain-days')
  assert.match(
    plain.stdout,
    /^3 validators, hoodi, in gwei\n\S+ {2}earnings \d+ \(penalties -?\d+\), execution unknown/,
  )
})

test('income of the watch list is that of the validators on it', async () => {
  await using scene = await openScene(['2', '5'])
  const { code, stdout, stderr } = await scene.run('income', '--watched', '--json')
  assert.equal(code, 0, stderr)
  assert.equal(JSON.parse(stdout).validators, 2)
  assert.equal(stdout, (await scene.run('income', '2,5', '--json')).stdout)
})

test('compare shows the difference to the network, of these validators or of a pool', async () => {
  const { code, stdout, stderr } = await at.run('compare', '1', '2', '--days', '2', '--json')
  assert.equal(code, 0, stderr)
  const { days, network, validators } = JSON.parse(stdout)
  assert.equal(days, 2)
  assert.deepEqual(
    validators.map(({ validatorIndex }: { validatorIndex: number }) => validatorIndex),
    [1, 2],
  )
  const [{ uptime }] = validators
  assert(Math.abs(uptime.difference - 100 * (uptime.value - network.uptime)) < 1e-6)
  const plain = await at.run('compare', '1', '--days', '2')
  assert.match(plain.stdout, /^hoodi, days \d+ to \d+, 2 of them complete\nnetwork +uptime \d+\.\d\d %, attester /)
  assert.match(plain.stdout, /\n1 +uptime \S+ % \([+-]\d+\.\d\d\), attester \S+ \(\S+, percentile \d+\)/)
  const none = await at.run('compare')
  assert.match(none.stderr, /name the validators by one of/)
})

test('income with prices: the rate of the same date times the earnings, exact, and none of another date', async () => {
  await using scene = await openScene()
  const fx = { sources: [{ id: 'ours', kind: 'push' }] }
  await writeFile(join(scene.dir, 'tetrad.yaml'), JSON.stringify({ ...scene.settings, fx }))
  const none = await scene.run('income', '2', '--price', 'EUR')
  assert.notEqual(none.code, 0)
  assert.match(none.stderr, /No source in fx\.sources has returned rates between ETH and EUR/)

  const plain = JSON.parse((await scene.run('income', '2', '--json')).stdout)
  const [{ date, earnings }] = plain.days
  const stores = await openStores(join(scene.dir, 'data'))
  const atMs = Date.parse(`${date}T12:00:00Z`)
  const rate = { source: 'ours', base: 'ETH', rate: '3210.987' }
  const dayBefore = { ...rate, quote: 'GBP', atMs: atMs - 86_400_000 }
  await storeRates(stores.state, 'ours', [{ ...rate, quote: 'EUR', atMs }, dayBefore], atMs)
  await stores.close()

  const inUnits = (value: string) => {
    const [whole = '', fraction = ''] = value.split('.')
    return BigInt(whole + fraction.padEnd(12, '0'))
  }
  const { code, stdout, stderr } = await scene.run('income', '2', '--price', 'EUR', '--chain-days', '--json')
  assert.equal(code, 0, stderr)
  const { days, total } = JSON.parse(stdout)
  assert.equal(days.length, 4)
  for (const day of days) {
    assert.equal(day.price, '3210.987')
    assert.equal(inUnits(day.value), BigInt(day.earnings) * 3_210_987n)
  }
  assert.equal(inUnits(total.value), BigInt(earnings) * 3_210_987n)

  const csv = (await scene.run('income', '2', '--price', 'EUR', '--csv')).stdout
  assert.match(csv, /,priorityFees,mev,price,value\n/)
  assert.ok(csv.endsWith(`,3210.987,${total.value}\n`), csv)
  const unpriced = await scene.run('income', '2', '--price', 'GBP', '--json')
  assert.deepEqual([JSON.parse(unpriced.stdout).days[0].price, JSON.parse(unpriced.stdout).total.value], [null, null])
  assert.match((await scene.run('income', '2', '--price', 'GBP')).stdout, /, value unknown\n/)
  assert.match((await scene.run('income', '2', '--price', 'EUR')).stdout, /, value \d+\.\d+ EUR at 3210\.987\n/)
})

test('income names its options if validators are missing or unknown', async () => {
  const none = await at.run('income', '--price', 'EUR')
  assert.equal(none.code, 2)
  assert.match(none.stderr, /^tetrad: No validators are named\. Use one of indices, --pool, .* and --watched\.\n$/)
  const both = await at.run('income', '1', '--pool', 'Lantern Pool')
  assert.equal(both.code, 2)
  assert.match(both.stderr, /^tetrad: The validators are named in several ways\. Use one of indices, --pool, /)
  const wrong = await at.run('income', 'abc')
  assert.match(wrong.stderr, /Use indices, such as 12 or 12,13/)
  const unwatched = await at.run('income', '--watched')
  assert.match(
    unwatched.stderr,
    /--watched needs a watch list with stored epochs of hoodi; set validators\.networks\.hoodi/,
  )
  const unknown = await at.run('income', '--pool', 'nobody')
  assert.match(unknown.stderr, /No such validators on hoodi/)
})
