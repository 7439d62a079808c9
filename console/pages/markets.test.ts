// The markets page in a real browser with demo data.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createClient } from '#api/client/client.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'
import { listDocuments } from '#test/market-documents.ts'

describe('Markets page', { skip: noBrowser }, () => {
  let browser: Browser
  let slug = ''
  before(async () => {
    browser = await openBrowser()
    slug = browser.demo.samples.slug
  })
  after(() => browser[Symbol.asyncDispose]())

  /** A closed market: the feed does not change it, so only the test does. */
  const findClosedMarket = async (): Promise<{ id: string; slug: string }> => {
    const documents = await listDocuments(browser.demo.server.context.ingest)
    const markets = documents.map(({ text }) => JSON.parse(text))
    return markets.find(({ closed }) => closed) ?? assert.fail('the demo data has no closed market')
  }
  const change = (id: string, fields: Record<string, unknown>) =>
    browser.demo.server.context.ingest.write((tx) =>
      putMarkets(tx, [{ kind: 'market', id, fields, partial: true }], Date.now()),
    )

  test('shows the most traded open markets without a key, and searches while typing', async () => {
    const page = await browser.page('/#/markets', { key: '' })
    await page.getByRole('heading', { name: 'Most traded open markets' }).waitFor()
    await page.locator('tbody tr').nth(19).waitFor()
    await browser.accessible(page)
    await page.getByRole('searchbox').fill('harbour bridge toll')
    await page.getByRole('heading', { name: 'Markets matching “harbour bridge toll”' }).waitFor()
    const links = page.locator('tbody a')
    await links.nth(1).waitFor({ state: 'detached' })
    assert.equal(await links.count(), 1)
    assert.match(page.url(), /\?q=harbour\+bridge\+toll$/)
    await links.click()
    await page.getByRole('heading', { level: 1, name: /toll/ }).waitFor()
    await page.goBack()
    await page.getByRole('searchbox').fill('no such market')
    await page.getByText('No matches. Search matches the start of each word.').waitFor()
    await browser.leave(page)
  })

  test('the search follows the address, and the back button returns to the previous search', async () => {
    const page = await browser.page('/#/markets')
    const box = page.getByRole('searchbox')
    const shown = (text: string) => page.getByRole('heading', { name: `Markets matching “${text}”` }).waitFor()
    await box.waitFor()
    await page.evaluate(() => window.location.assign('#/markets?q=harbour'))
    await shown('harbour')
    assert.equal(await box.inputValue(), 'harbour')
    await box.press('End')
    await box.pressSequentially(' br', { delay: 300 })
    await box.press('Enter')
    await shown('harbour br')
    await box.fill('toll')
    await shown('toll')
    await page.goBack()
    await shown('harbour br')
    assert.equal(await box.inputValue(), 'harbour br')
    await page.goBack()
    await shown('harbour')
    await page.goBack()
    await page.getByRole('heading', { name: 'Most traded open markets' }).waitFor()
    assert.equal(await box.inputValue(), '')
    await browser.leave(page)
  })

  test('a market shows outcomes, figures, other markets of its event, and addresses', async () => {
    const page = await browser.page(`/#/markets/${slug}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const outcomes = page.locator('.outcomes li')
    assert.equal(await outcomes.count(), 2)
    assert.match((await outcomes.first().textContent()) ?? '', /^Yes\d+ %$/)
    await page.getByRole('img', { name: 'Prices over time' }).waitFor()
    // By its time: a change that arrives meanwhile comes first in the list.
    const changes = page.locator('.changes li', { hasText: 'derived figures' })
    const time = await changes.first().locator('.when').innerText()
    const change = changes.filter({ hasText: time })
    assert.doesNotMatch(await change.innerText(), /clob/)
    await change.getByText('derived figures').click()
    assert.match(await change.innerText(), /volume24hr clob/)
    await browser.accessible(page)
    await page.getByRole('button', { name: 'Show first funding' }).click()
    await page
      .getByText(/No incoming transfer|hops? back/)
      .first()
      .waitFor()
    const creator = page.getByRole('row', { name: /creator/ }).getByRole('link')
    assert.match((await creator.getAttribute('href')) ?? '', /\/explorer\/1\/0x[0-9a-f]{40}$/)
    const siblings = page.locator('.siblings a:not([aria-current])')
    assert.equal(await siblings.count(), 3)
    const name = (await siblings.first().textContent()) ?? ''
    await siblings.first().click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await browser.leave(page)
  })

  test('the price a week ago is on the page of a market, which is one search and one click away', async () => {
    const page = await browser.page('/#/markets')
    await page.getByRole('searchbox').fill('harbour bridge open on time')
    await page.getByRole('link', { name: 'Will the harbour bridge open on time?' }).click()
    const prices = page.getByRole('region', { name: 'Earlier prices' })
    const row = prices.getByRole('row', { name: /^Yes/ })
    await row.waitFor()
    await row.getByText('…').first().waitFor({ state: 'detached' })
    const client = createClient({ baseUrl: browser.demo.url })
    const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString()
    const past = await client.markets.bySlug({ slug: browser.demo.samples.slug, asOf: weekAgo })
    const [share = ''] = JSON.parse(String(past.outcomePrices)) as string[]
    const cells = await row.getByRole('cell').allTextContents()
    assert.equal(cells.length, 4)
    for (const cell of cells.slice(0, 3)) assert.match(cell, /^\d+\.\d %$/)
    assert.equal(cells[2], `${(Number(share) * 100).toFixed(1)} %`)
    assert.equal(cells[3], '–')
    // The plot shows the values at the cursor.
    const plot = page.getByRole('img', { name: 'Prices over time' })
    await plot.locator('.u-over').hover()
    await plot.locator('.plot-tooltip b').nth(1).waitFor()
    await browser.accessible(page)
    await page.getByRole('link', { name: '1 day ago' }).click()
    await page.getByText('You see the market as of').waitFor()
    await browser.leave(page)
  })

  test('the title of the document is the question of a market, or the title of an event', async () => {
    const page = await browser.page(`/#/markets/${slug}`)
    // Until the market is loaded, the heading is its slug.
    await page.getByRole('region', { name: 'Event and tags' }).waitFor()
    const question = await page.getByRole('heading', { level: 1 }).innerText()
    const titleIs = (title: string) => page.waitForFunction((expected) => document.title === expected, title)
    await titleIs(`${question} · Markets · Tetrad`)
    await page.getByRole('region', { name: 'Event and tags' }).locator('h3 a').first().click()
    await page.getByRole('heading', { name: 'Markets of this event' }).waitFor()
    await titleIs(`${await page.getByRole('heading', { level: 1 }).innerText()} · Markets · Tetrad`)
    // The market is in the cache now.
    await page.goBack()
    await titleIs(`${question} · Markets · Tetrad`)
    await browser.leave(page)
  })

  test('a change appears live, and the market can be shown at an earlier time', async () => {
    const market = await findClosedMarket()
    const page = await browser.page(`/#/markets/${market.slug}`)
    await page.getByText('Live', { exact: true }).waitFor()
    await change(market.id, { oracleResolutionStatus: 'first status' })
    await page.getByText('resolved → first status').waitFor()
    await page.locator('.facts').getByText('first status').waitFor()
    await change(market.id, { oracleResolutionStatus: 'second status' })
    await page.getByText('first status → second status').waitFor()

    await page.locator('.changes li', { hasText: '→ first status' }).getByRole('link').click()
    await page.getByText('You see the market as of').waitFor()
    await page.locator('.facts').getByText('first status').waitFor()
    assert.match(page.url(), /asOf=/)
    await page.locator('.changes .shown', { hasText: '→ first status' }).waitFor()
    await browser.accessible(page)
    await page.getByRole('link', { name: 'Show the present' }).click()
    await page.locator('.facts').getByText('second status').waitFor()
    await browser.leave(page)
  })

  test('the buttons change the plot and the address', async () => {
    const page = await browser.page(`/#/markets/${slug}?plot=volume`)
    await page.getByRole('img', { name: 'Volume over time' }).waitFor()
    await page.getByRole('button', { name: 'Bid and ask' }).click()
    await page.getByRole('img', { name: 'Bid and ask over time' }).waitFor()
    await page.getByText('Include event, series and tags').click()
    await page.locator('.changes .badge', { hasText: 'event' }).first().waitFor()
    assert.match(page.url(), /plot=book&related=1$/)
    await browser.leave(page)
  })

  test('pages fit a narrow screen and are accessible in the dark theme', async () => {
    const options = { colorScheme: 'dark', viewport: { width: 360, height: 800 } } as const
    for (const path of ['/#/markets', `/#/markets/${slug}`]) {
      const page = await browser.page(path, options)
      await page.locator('tbody tr, .changes li').first().waitFor()
      const { wide, screen } = await page.evaluate(() => {
        const { scrollWidth: wide, clientWidth: screen } = document.documentElement
        return { wide, screen }
      })
      assert.ok(wide <= screen, `${path}: ${wide} px`)
      await browser.accessibleStyle(page)
      await browser.leave(page)
    }
  })

  test('an unknown slug links to a search for its words, and the other pages logged no errors', async () => {
    // Browsers log an error for every 404.
    browser.done()
    const page = await browser.page('/#/markets/harbour-bridge-unknown')
    await page.getByText('No market has this slug').waitFor()
    await page.getByRole('link', { name: 'Search for its words' }).click()
    assert.equal(await page.getByRole('searchbox').inputValue(), 'harbour bridge unknown')
    await browser.leave(page)
  })

  test('an event page groups the markets of the event, with prices and volumes in their currency', async () => {
    const page = await browser.page(`/#/markets/${slug}`, { key: '' })
    const related = page.getByRole('region', { name: 'Event and tags' })
    await related.locator('.siblings a').first().waitFor()
    const questions = await related.locator('.siblings a').allTextContents()
    await related.locator('h3 a').first().click()
    await page.getByRole('heading', { name: 'Markets of this event' }).waitFor()
    const table = page.getByRole('region', { name: 'Markets of this event: table' })
    await table.getByRole('row').nth(questions.length).waitFor()
    assert.deepEqual((await table.locator('tbody a').allTextContents()).sort(), questions.sort())
    await table
      .getByText(/^[\d,.]+( [kMB])? USDC$/)
      .first()
      .waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('the plot of a market marks when it was closed', async () => {
    const { id, slug: closedSlug } = await findClosedMarket()
    await change(id, { closed: false })
    await change(id, { closed: true })
    const page = await browser.page(`/#/markets/${closedSlug}`)
    await page.getByText(/^Events: .*reopened; .* closed\.$/).waitFor()
    await page
      .getByText(/^[\d,.]+( [kMB])? USDC$/)
      .first()
      .waitFor()
    await browser.leave(page)
  })
})
