// What a person does on the Validators pages, in a real browser against the demo world. Whom to look at is asked from the
// server, as a person would.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Client, createClient } from '#api/client.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

describe('Validators page', { skip: noBrowser }, () => {
  let browser: Browser
  let client: Client
  let pools: string[] = []
  let members: number[] = []

  before(async () => {
    browser = await openBrowser()
    client = createClient({ baseUrl: browser.demo.url, key: browser.demo.key })
    pools = (await client.validators.find({})).pools.map(({ pool }) => pool)
    const { validators } = await client.validators.find({ pool: pools[0] ?? '' })
    members = validators.map(({ validatorIndex }) => validatorIndex)
    assert.ok(pools.length >= 2 && members.length >= 2, 'the demo world has pools with validators')
  })
  after(async () => {
    // A browser that stays open would keep the test from ending.
    await browser[Symbol.asyncDispose]()
    browser.done()
  })

  const open = (place: string, options = {}) => browser.page(`/#/validators${place}`, options)
  const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)
  const plot = (page: Page, name: string | RegExp) => page.getByRole('img', { name })

  /** A day on which a vote was late only because blocks were missing, and everything that is told of it. */
  async function excusedDay() {
    for (const index of members) {
      const { results } = await client.validators.explain({ validator_index_or_pubkey: index, limit: 100 })
      const day = results.find(({ epochs }) =>
        epochs.some(({ vote }) => vote?.nextBlockMissing && vote.delay !== null && vote.delay === vote.bestDelay),
      )
      if (day) return { index, day }
    }
    throw new Error('the demo world has no vote that was late because a block was missing')
  }

  test('from nothing to a pool, to a validator, to the reason of its worst day', async () => {
    const page = await open('')
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    await page.getByText('Try the validator').waitFor()
    await browser.accessible(page)
    await page
      .getByRole('region', { name: 'Pools' })
      .getByRole('link', { name: pools[0] ?? '' })
      .click()
    await page.getByRole('heading', { name: `In the pool ${pools[0]}` }).waitFor()
    await browser.accessible(page)
    await page
      .getByRole('link', { name: String(members[0]), exact: true })
      .last()
      .click()
    await page.getByRole('heading', { level: 1, name: `Validator ${members[0]}` }).waitFor()
    await plot(page, /^Effectiveness in \d+ days$/).waitFor()
    await plot(page, /^Paid by the chain per day/).waitFor()
    await page.getByText('Worst days in this range:').waitFor()
    const worst = page.locator('.worst a').first()
    const date = /\d{4}-\d\d-\d\d/.exec((await worst.textContent()) ?? '')?.[0]
    await worst.click()
    await page.getByRole('heading', { name: new RegExp(`^The duties of chain day \\d+, ${date}$`) }).waitFor()
    await page.getByRole('columnheader', { name: 'Whose fault' }).waitFor()
    assert.match(page.url(), /[?&]day=\d+/)
    await browser.accessible(page)
    await page.getByRole('link', { name: 'Close' }).click()
    await page.getByRole('columnheader', { name: 'Whose fault' }).waitFor({ state: 'detached' })
    await browser.leave(page)
  })

  test('a vote that was late because a block was missing is said to be not the validator’s fault', async () => {
    const { index, day } = await excusedDay()
    const page = await open(`/${index}?network=mainnet&day=${day.day}`)
    await page.getByText(/(None of it was|were not) this validator’s fault/).waitFor()
    const excused = day.epochs.filter(({ vote }) => vote?.delay && vote.delay > 1 && vote.delay === vote.bestDelay)
    const rows = page.getByRole('row').filter({ hasText: 'not this validator’s fault: there was no earlier block' })
    await rows.first().waitFor()
    assert.equal(await rows.count(), excused.length)
    assert.equal(
      await rows.first().getByRole('cell').nth(2).textContent(),
      String(excused[0]?.vote?.slot),
      'the slot of the vote',
    )
    await plot(page, new RegExp(`^Epochs ${day.startEpoch} to ${day.endEpoch}: .*late`)).waitFor()
    await browser.leave(page)
  })

  test('a point that is clicked leads to its day, a week to its days, and the address keeps every choice', async () => {
    const page = await open(`/${members[0]}`)
    const days = plot(page, /^Effectiveness in \d+ days$/)
    await days.locator('.u-over').click()
    await page.getByRole('heading', { name: /^The duties of chain day \d+/ }).waitFor()
    await page.getByLabel('Windows').selectOption('week')
    await page.getByLabel('Days are').selectOption('utc')
    await page.getByRole('button', { name: 'Uptime and correctness' }).click()
    await page.getByRole('button', { name: 'Penalties' }).click()
    await plot(page, /^Uptime and correctness in \d+ weeks$/).waitFor()
    assert.match(page.url(), /by=week&days=utc&show=votes&money=penalties/)
    await page.reload()
    await plot(page, /^Uptime and correctness in \d+ weeks$/)
      .locator('.u-over')
      .click()
    await plot(page, /^Uptime and correctness in [1-7] days$/).waitFor()
    assert.match(page.url(), /days=utc&from=\d{4}-\d\d-\d\d&to=\d{4}-\d\d-\d\d/)
    await page.goBack()
    await plot(page, /^Uptime and correctness in \d+ weeks$/).waitFor()
    await browser.leave(page)
  })

  test('amounts are those of the interface, to the gwei', async () => {
    const { data } = await client.validators.aggregateEffectiveness({
      indices: [members[0] ?? 0],
      granularity: 'all',
      groupBy: 'timeWindow',
    })
    const page = await open(`/${members[0]}?last=all`)
    const gwei = BigInt(data[0]?.earnings ?? 0)
    const eth = `${gwei / 10n ** 9n}.${String(gwei % 10n ** 9n).padStart(9, '0')}`.replace(/\.?0+$/, '')
    await page.getByText(`${eth} ETH`, { exact: true }).waitFor()
    await browser.leave(page)
  })

  test('who funded the deposit address first, and whose name it bears, is told with a link to the explorer', async () => {
    const { depositAddresses } = await client.validators.metadata({ validator_index_or_pubkey: members[0] ?? 0 })
    const deposit = depositAddresses?.[0]
    assert.ok(deposit !== undefined, 'the demo world knows who made the deposit')
    const { result } = await client.explorer.trail({ address: deposit, depth: 1 })
    const hop = result.hops[0]
    const page = await open(`/${members[0]}`)
    const money = page.getByRole('region', { name: 'Whose money it is' })
    await money.getByText('Deposited by').waitFor()
    assert.equal(await money.getByRole('link').first().getAttribute('href'), `/#/explorer/1/${deposit}`)
    if (hop?.label) await money.getByText(hop.label.name).first().waitFor()
    else await money.getByText('not known here').first().waitFor()
    await browser.leave(page)
  })

  test('validators are found by key, operator and address, and a name that is nearly right leads to the right one', async () => {
    const [one] = (await client.validators.find({ pool: pools[0] ?? '', limit: 1 })).validators
    assert.ok(one)
    const page = await open('')
    const find = async (text: string) => {
      await page.getByRole('searchbox').fill(text)
      await page.getByRole('button', { name: 'Find' }).click()
    }
    const foundOne = () =>
      page
        .getByRole('checkbox', { name: `Compare ${one.validatorIndex}`, exact: true })
        .first()
        .waitFor()
    await find(one.validatorPubkey.slice(0, 12))
    await page.getByRole('heading', { name: /^Keys that begin with/ }).waitFor()
    await foundOne()
    await find(one.nodeOperators[0] ?? '')
    await page.getByRole('heading', { name: /^Run by/ }).waitFor()
    await foundOne()
    await find(one.withdrawalAddress ?? '')
    await page.getByRole('heading', { name: /^Withdrawing to/ }).waitFor()
    await foundOne()
    await find((pools[1] ?? '').toLowerCase())
    await page.getByRole('heading', { name: 'Pools with such a name' }).waitFor()
    await page
      .getByRole('region', { name: 'Pools with such a name' })
      .getByRole('link', { name: pools[1] ?? '' })
      .click()
    await page.getByRole('heading', { name: `In the pool ${pools[1]}` }).waitFor()
    await find(String(one.validatorIndex))
    await page.getByRole('heading', { level: 1, name: `Validator ${one.validatorIndex}` }).waitFor()
    await browser.leave(page)
  })

  test('validators that are chosen stand side by side, one can be added and left out', async () => {
    const page = await open(`?network=mainnet&q=${encodeURIComponent(pools[0] ?? '')}`)
    const [first, second, third] = members
    await page.getByRole('checkbox', { name: `Compare ${first}`, exact: true }).check()
    await page.getByRole('checkbox', { name: `Compare ${second}`, exact: true }).check()
    await page.getByRole('button', { name: 'Compare 2 chosen' }).click()
    await plot(page, `Effectiveness per day: ${first}, ${second}`).waitFor()
    const table = page.getByRole('region', { name: 'All figures of the range' })
    await table.getByRole('rowheader', { name: String(second), exact: true }).waitFor()
    await browser.accessible(page)
    await page.getByLabel('Add by index or public key').fill(String(third))
    await page.getByRole('button', { name: 'Add' }).click()
    await plot(page, `Effectiveness per day: ${first}, ${second}, ${third}`).waitFor()
    await page.getByRole('button', { name: `Leave out ${first}`, exact: true }).click()
    await plot(page, `Effectiveness per day: ${second}, ${third}`).waitFor()
    await page.getByRole('button', { name: 'Inclusion delay' }).click()
    await plot(page, `Inclusion delay per day: ${second}, ${third}`).waitFor()
    assert.match(page.url(), new RegExp(`of=${second}%2C${third}`))
    await browser.leave(page)
  })

  test('two pools stand side by side with the figures of all their validators', async () => {
    const page = await open('')
    for (const pool of pools.slice(0, 2)) await page.getByRole('checkbox', { name: `Compare ${pool}` }).check()
    await page.getByRole('button', { name: 'Compare the two' }).click()
    await plot(page, `Effectiveness per day: ${pools[0]}, ${pools[1]}`).waitFor()
    const { data } = await client.validators.aggregateEffectiveness({
      indices: members,
      granularity: 'all',
      groupBy: 'timeWindow',
    })
    const row = page
      .getByRole('region', { name: 'All figures of the range' })
      .getByRole('row', { name: pools[0] ?? '' })
    assert.equal(
      await row.getByRole('cell').first().textContent(),
      data[0]?.validatorEffectiveness?.toFixed(2),
      'the pool’s effectiveness',
    )
    await page.setViewportSize({ width: 1100, height: 800 })
    const table = page.getByRole('region', { name: 'All figures of the range' })
    assert.ok(
      await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth),
      'no column is cut off',
    )
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('a validator that nobody knows and a network without pools say what to do next', async () => {
    const page = await open('/999999999')
    await page.getByRole('heading', { name: 'No validator 999999999 here' }).waitFor()
    await page.getByRole('link', { name: 'search for another one' }).click()
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    await page.goto(new URL('/#/validators?network=hoodi', browser.demo.url).href)
    await page.getByText('No pools are known on hoodi.').waitFor()
    await browser.leave(page)
  })

  test('in the dark and on a narrow screen everything is there, and nothing is cut off', async () => {
    const { index, day } = await excusedDay()
    const narrow = { viewport: { width: 360, height: 800 }, colorScheme: 'dark' }
    const page = await open(`/${index}?day=${day.day}`, narrow)
    await plot(page, /^Effectiveness in/).waitFor()
    await page.getByRole('columnheader', { name: 'Whose fault' }).waitFor()
    await page.getByText('Change of the balance', { exact: true }).waitFor()
    assert.ok(await fits(page))
    await browser.accessible(page)
    await page.goto(new URL(`/#/validators/compare?of=${members.slice(0, 10).join()}`, browser.demo.url).href)
    await plot(page, /^Effectiveness per day/).waitFor()
    assert.ok(await fits(page))
    await browser.accessible(page)
    await browser.leave(page)
  })
})
