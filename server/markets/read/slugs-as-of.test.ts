// Slugs that several markets have or had: `asOf` names the market that was served, also after old versions were deleted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { markVanished, recordPresence } from '../feeds/feed-presence.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { findMarketResponse } from './market-response.ts'

const textOf = (bytes: Uint8Array | undefined) => (bytes ? Buffer.from(bytes).toString() : undefined)

const put = (context: TestContext, id: string, fields: object) =>
  context.ingest.write((tx) =>
    putMarkets(tx, [{ kind: 'market', id, fields: { ...fields }, links: {} }], context.clock.now()),
  )

const drop = (context: TestContext, cutoffMs: number) => context.ingest.write((tx) => dropVersionsBefore(tx, cutoffMs))

async function requestAsOf(context: TestContext, slug: string, atMs: number) {
  const asOf = new Date(atMs).toISOString()
  const outcome = await bySlug.handle({ slug, include_tag: true, asOf }, context, testRequestInfo())
  return outcome.is === 'bytes' ? textOf(outcome.bytes) : outcome.is
}

const idOf = (text: string | undefined) => JSON.parse(text ?? '{}').id

test('a slug that another market has now names the market that had it, if no version of that time is left', async () => {
  await using context = await openContext()
  await put(context, '1', { slug: 'prize' })
  context.clock.advance(10_000)
  const betweenMs = context.clock.now()
  context.clock.advance(10_000)
  await put(context, '1', { slug: 'prize-2025' })
  await put(context, '2', { slug: 'prize' })
  assert.equal(idOf(await requestAsOf(context, 'prize', betweenMs)), '1')
  await drop(context, betweenMs)
  assert.equal(idOf(await requestAsOf(context, 'prize', betweenMs)), '1')
  context.clock.advance(10_000)
  await drop(context, context.clock.now())
  assert.equal(idOf(await requestAsOf(context, 'prize', context.clock.now())), '2', 'no version is left at all')
})

test('of two markets with one slug, the same one is served before and after its versions are deleted', async () => {
  await using context = await openContext()
  await put(context, '2', { slug: 'prize' })
  await put(context, '1', { slug: 'prize' })
  context.clock.advance(10_000)
  const betweenMs = context.clock.now()
  const served = textOf((await findMarketResponse(context, 'prize', true))?.bytes)
  context.clock.advance(10_000)
  await put(context, '2', { slug: 'prize', question: 'Who?' })
  await drop(context, betweenMs)
  assert.equal(await requestAsOf(context, 'prize', betweenMs), served)
})

test('of two markets with one slug, one that had vanished at that time is not served', async () => {
  await using context = await openContext()
  await put(context, '1', { slug: 'prize' })
  await put(context, '2', { slug: 'prize' })
  await setVanished(context, '2', true)
  context.clock.advance(10_000)
  const betweenMs = context.clock.now()
  assert.equal(idOf(await requestAsOf(context, 'prize', betweenMs)), '1')
  context.clock.advance(10_000)
  await setVanished(context, '2', false)
  for (const cutoffMs of [0, betweenMs]) {
    await drop(context, cutoffMs)
    assert.equal(idOf(await requestAsOf(context, 'prize', betweenMs)), '1')
  }
})

/** As a feed does at the end of a pass, or when it lists the market again. */
const setVanished = (context: TestContext, id: string, isVanished: boolean) =>
  context.ingest.write(async (tx) => {
    const nowMs = context.clock.now()
    await recordPresence(tx, 'feed', [id], isVanished ? 0 : 9, nowMs)
    if (isVanished) await markVanished(tx, 'feed', [], 5, 1, nowMs)
  })

const ids = ['1', '2', '3', '4']
const slugs = ['a', 'b', 'c', 'd']

for (const seed of seedsOf(40, 4)) {
  test(`random markets that exchange slugs and vanish are served as of every time that is kept (seed ${seed})`, async () => {
    await using context = await openContext()
    const draws = createSeededRandom(`slugs ${seed}`)
    const served: { slug: string; atMs: number; text: string }[] = []
    for (let step = 0; step < 25; step++) {
      const id = draws.pick(ids)
      const pastSlugs = slugs.filter(() => draws.next() < 0.2).join()
      if (step < 4 || draws.next() < 0.7)
        await put(context, ids[step] ?? id, { slug: draws.pick(slugs), pastSlugs, bestBid: step })
      else await setVanished(context, id, draws.next() < 0.5)
      for (const slug of slugs) {
        const text = textOf((await findMarketResponse(context, slug, true))?.bytes)
        if (text !== undefined) served.push({ slug, atMs: context.clock.now(), text })
      }
      context.clock.advance(1000)
    }
    const [firstMs, lastMs] = [served[0]?.atMs ?? 0, context.clock.now()]
    for (let cutoffMs = firstMs; cutoffMs < lastMs; cutoffMs += 2500) {
      await drop(context, cutoffMs)
      for (const { slug, atMs, text } of served) {
        for (const asOfMs of [atMs, atMs + 999].filter((ms) => ms >= cutoffMs))
          assert.equal(
            await requestAsOf(context, slug, asOfMs),
            text,
            `${slug} at ${asOfMs - firstMs}, kept from ${cutoffMs - firstMs}`,
          )
      }
    }
  })
}
