import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import { createFxCaches } from '#fx/context.ts'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import { acceptQuote } from '#fx/extensions/trades/trade-store.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import { settingsWith, testRequestInfo } from '#test/context.ts'
import { openFolder, runCommand } from '#test/run-command.ts'

const fx = { spender: '0x3333333333333333333333333333333333333333', sources: [{ id: 'desk', kind: 'push' }] }

async function openFxFolder() {
  const home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), 'fx:\n  sources:\n    - id: desk\n      kind: push\n')
  await (await openState(join(home.dir, 'data'))).close()
  const tetrad = (...args: string[]) => runCommand(['fx', ...args], { cwd: home.dir })
  const json = async (...args: string[]) => JSON.parse((await tetrad(...args, '--json')).stdout)
  return { ...home, tetrad, json }
}

async function storeTestQuote(dir: string): Promise<{ quote: Quote; bytes: Uint8Array }> {
  const state = await openState(join(dir, 'data'))
  const provenTime = new ProvenTime(systemClock)
  const world = { settings: settingsWith({ fx }), clock: systemClock, provenTime, random: systemRandom, log: silentLog }
  const outcome = await createQuote.handle(
    {
      from: { currency: 'USDC', amount: '1000' },
      to: { currency: 'EURC' },
      tenor: 'instant',
      type: 'tradable',
      recipientAddress: `0x${'11'.repeat(20)}`,
    },
    { state, ...world, fx: createFxCaches() },
    testRequestInfo(),
  )
  await state.close()
  assert.ok(outcome.is === 'bytes')
  return { quote: parseJson(new TextDecoder().decode(outcome.bytes)) as Quote, bytes: outcome.bytes }
}

test('a rate that was set appears in the sources and in the history', async () => {
  await using home = await openFxFolder()
  const set = await home.tetrad('rate', 'set', 'EUR/USD', '1.0842')
  assert.deepEqual([set.code, set.stderr], [0, ''])
  assert.match(set.stdout, /^desk EUR\/USD 1\.0842 at 2/)
  const { sources, rates } = await home.json('sources')
  assert.deepEqual(
    [sources[0].source, sources[0].kind, rates[0].pair, rates[0].status],
    ['desk', 'push', 'EUR/USD', 'used'],
  )
  assert.match((await home.tetrad('sources')).stdout, /desk {4}push {2}EUR\/USD {2}1\.0842 {2}/)
  const [line] = await home.json('history', 'EUR/USD')
  assert.deepEqual([line.source, line.rate], ['desk', '1.0842'])
  assert.deepEqual(await home.json('history', 'USD/EUR'), [])
})

test('an invalid rate is refused with a reason and not stored', async () => {
  await using home = await openFxFolder()
  const refusals: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['rate', 'set', 'EURUSD', '1.1'], 2, /two currencies, such as EUR\/USD/],
    [['rate', 'set', 'EUR/EUR', '1.1'], 1, /must be two different currencies/],
    [['rate', 'set', 'EUR/USD', '0'], 1, /^tetrad: The rate is zero\.$/m],
    [['rate', 'set', 'EUR/USD', 'much'], 1, /^tetrad: The rate much is not a decimal above zero\.$/m],
    [['rate', 'set', 'EUR/USD', '1.1', '--source', 'bank'], 1, /^tetrad: --source must be one of desk\.$/m],
    [['history', 'EUR/USD', '--since', 'soon'], 2, /--since "soon" is not a time/],
    [['history', 'EUR/USD', '--limit', '0'], 2, /It must be 1 to/],
  ]
  for (const [args, code, expected] of refusals) {
    const result = await home.tetrad(...args)
    assert.equal(result.code, code, args.join(' '))
    assert.match(result.stderr, expected)
  }
  assert.deepEqual((await home.json('sources')).rates, [])
})

test('without a push source, the error names the configured sources and what to add', async () => {
  await using home = await openFxFolder()
  const set = () => home.tetrad('rate', 'set', 'EUR/USD', '1.1')
  await writeFile(
    join(home.dir, 'tetrad.yaml'),
    'fx:\n  sources:\n    - id: bank\n      kind: ecb\n      path: rates.xml\n',
  )
  const advice = 'Add a source of kind push to fx.sources (docs/fx.md).'
  const reason = 'no configured source has kind push: bank (ecb)'
  assert.deepEqual(await set(), {
    ...{ code: 1, stdout: '', stderr: `tetrad: Cannot set a rate: ${reason}. ${advice}\n` },
  })
  await rm(join(home.dir, 'tetrad.yaml'))
  assert.match((await set()).stderr, /Cannot set a rate: no source is configured\. Add a source of kind push/)
})

test('a receipt is verified offline, and one changed digit is detected', async () => {
  await using home = await openFxFolder()
  await home.tetrad('rate', 'set', 'EUR/USD', '1.0842')
  const { quote, bytes } = await storeTestQuote(home.dir)
  assert.equal((await home.tetrad('quote', quote.id)).stdout, `${new TextDecoder().decode(bytes)}\n`)
  const receipt = (await home.tetrad('receipt', quote.id)).stdout
  await writeFile(join(home.dir, 'receipt.json'), receipt)
  await writeFile(join(home.dir, 'quote.json'), bytes)
  const { publicKey } = JSON.parse(receipt).signature
  const good = await home.tetrad('verify-receipt', 'receipt.json', '--public-key', publicKey, '--quote', 'quote.json')
  assert.deepEqual([good.code, good.stderr], [0, ''])
  assert.match(
    good.stdout,
    /ok {2}signature: signed by key [0-9a-f]{16}\nok {2}key: .*\nok {2}mid: the median of 1 rate\n/,
  )
  assert.match((await home.tetrad('verify-receipt', 'receipt.json')).stderr, /Pass --public-key/)

  const fresh = (await home.tetrad('rotate-receipt-key')).stdout.trim()
  assert.notEqual(fresh, publicKey)
  const past = await home.tetrad('verify-receipt', 'receipt.json', '--public-key', fresh)
  assert.match(past.stdout, /NO {2}key: signed with a different public key/)
  const both = ['--public-key', fresh, '--public-key', publicKey]
  assert.equal((await home.tetrad('verify-receipt', 'receipt.json', ...both)).code, 0)
  const { past: earlier } = await home.json('rotate-receipt-key')
  assert.deepEqual(new Set(earlier.map((key: { publicKey: string }) => key.publicKey)), new Set([fresh, publicKey]))

  await writeFile(join(home.dir, 'changed.json'), receipt.replace('"1.0842"', '"1.0843"'))
  const bad = await home.tetrad('verify-receipt', 'changed.json', '--json')
  assert.equal(bad.code, 1)
  const { good: isGood, checks } = JSON.parse(bad.stdout)
  assert.equal(isGood, false)
  assert.deepEqual(
    checks.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name),
    ['signature', 'mid'],
  )
  assert.match((await home.tetrad('receipt', '00000000-0000-4000-8000-000000000000')).stderr, /There is no quote/)
})

test('a signature is checked against a file or a stored quote, and a wrong one gives exit code 1 and the reason', async () => {
  await using home = await openFxFolder()
  await home.tetrad('rate', 'set', 'EUR/USD', '1.0842')
  const { quote, bytes } = await storeTestQuote(home.dir)
  await writeFile(join(home.dir, 'quote.json'), bytes)
  const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const signature = await signQuote(quote, taker)
  for (const fileOrId of ['quote.json', quote.id]) {
    const good = await home.tetrad('check-signature', fileOrId, '--signature', signature, '--signer', taker.address)
    assert.deepEqual([good.code, good.stderr], [0, ''])
    assert.match(good.stdout, new RegExp(`^good: recovered signer ${taker.address}`))
  }
  const node = ['--rpc-url', 'http://127.0.0.1:1']
  const unchecked = await home.tetrad('check-signature', quote.id, '--signature', signature, ...node)
  assert.equal(unchecked.code, 1)
  assert.match(unchecked.stderr, /^tetrad: Balance, allowance and nonce were not checked: .* cannot be reached/)
  assert.ok(quote.typedData)
  const signed = { ...quote.typedData, domain: { ...quote.typedData.domain, chainId: 137 } }
  const wrong = await signQuote({ id: quote.id, typedData: signed }, taker)
  const bad = await home.tetrad('check-signature', 'quote.json', '--signature', wrong, '--signer', taker.address)
  assert.equal(bad.code, 1)
  assert.match(bad.stdout, /^bad: .*\n {2}domain\.chainId was signed for a different chain \(expected 1, found 137\)\n/)
  await writeFile(join(home.dir, 'signed.json'), JSON.stringify(signed))
  const options = ['--signature', wrong, '--signer', taker.address, '--signed', 'signed.json', '--json']
  const compared = await home.tetrad('check-signature', 'quote.json', ...options)
  assert.equal(JSON.parse(compared.stdout).findings[0].field, 'domain.chainId')
  assert.match(
    (await home.tetrad('check-signature', 'none.json', '--signature', wrong)).stderr,
    /Cannot read none\.json/,
  )
})

test('a pause, a spread and their end are listed with who made them', async () => {
  await using home = await openFxFolder()
  const paused = await home.tetrad('pause', 'USDC/EURC', '--by', 'ann')
  assert.deepEqual([paused.code, paused.stderr], [0, ''])
  assert.match(paused.stdout, /^EURC\/USDC {2}paused {2}– +2\S+Z +ann$/m)
  const [override] = await home.json('spread', 'all', '2.50', '--by', 'bob')
  assert.deepEqual(
    [override.pair, override.paused, override.spreadBps, override.changedBy],
    ['all', false, '2.5', 'bob'],
  )
  await home.tetrad('resume', 'EURC/USDC')
  await home.tetrad('spread', 'all', 'none')
  const list = (await home.json('overrides')) as { paused: boolean; spreadBps: string | null }[]
  assert.deepEqual(
    list.map((one) => [one.paused, one.spreadBps]),
    [
      [false, null],
      [false, null],
    ],
  )
  const unknown = await home.tetrad('pause', 'EURC/GBPC')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /must be two of the tokens USDC, EURC, such as EURC\/USDC/)
  assert.match((await home.tetrad('spread', 'all', 'many')).stderr, /basis points below 10000/)
})

test('a trade is listed, its permit is printed on request only, and its settlement is reported once', async () => {
  await using home = await openFxFolder()
  const trade = await storeTestTrade(home)
  const listed = await home.json('trades', '--status', 'accepted')
  assert.deepEqual(
    listed.map(({ id }: { id: string }) => id),
    [trade.id],
  )
  assert.match((await home.tetrad('trades')).stdout, new RegExp(`${trade.id} +accepted +1000 USDC`))
  const shown = await home.tetrad('trade', trade.id)
  assert.ok(!shown.stdout.includes(trade.signature.slice(2, 66)))
  const permit = JSON.parse((await home.tetrad('trade', trade.id, '--permit')).stdout)
  assert.deepEqual([permit.owner, permit.signature], [trade.address, trade.signature])
  const settled = JSON.parse(
    (await home.tetrad('trade', trade.id, '--settled', `0x${'ab'.repeat(32)}`, '--by', 'ann')).stdout,
  )
  assert.deepEqual([settled.status, settled.reportedBy], ['settled', 'ann'])
  const again = await home.tetrad('trade', trade.id, '--failed', `0x${'cd'.repeat(32)}`)
  assert.deepEqual([again.code, /is settled by 0xabab/.test(again.stderr)], [1, true])
  assert.match((await home.tetrad('trade', '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c')).stderr, /There is no trade/)
  assert.match((await home.tetrad('trade', trade.id, '--settled', '0x12')).stderr, /64 hexadecimal digits/)
})

async function storeTestTrade(home: Awaited<ReturnType<typeof openFxFolder>>) {
  await home.tetrad('rate', 'set', 'EUR/USD', '1.0842')
  const { quote } = await storeTestQuote(home.dir)
  assert.ok(quote.typedData)
  const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const signature = await signQuote({ ...quote, typedData: quote.typedData }, taker)
  const state = await openState(join(home.dir, 'data'))
  const signable = { ...quote, typedData: quote.typedData, tenor: 'instant' as const }
  const accepted = { quote: signable, keyId: 'test', address: taker.address, signedBy: 'key' as const }
  const context = { state, clock: systemClock, random: systemRandom, settings: settingsWith({ fx }) }
  await acceptQuote(context, { ...accepted, signature: Uint8Array.fromHex(signature.slice(2)) })
  await state.close()
  return { id: quote.id, address: taker.address, signature }
}
