// What a person does on the Markets page, in a real browser against the demo world.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { putMarkets } from '#markets/records/put-markets.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

describe('Markets page', { skip: noBrowser }, () => {
  let browser: Browser
  let slug = ''
  before(async () => {
    browser = await openBrowser()
    slug = browser.demo.samples.slug
  })
  after(() => browser[Symbol.asyncDispose]())

  /** One that is closed: the feed has no more to say about it, so what happens to it is ours. */
  const quiet = async (): Promise<{ id: string; slug: string }> => {
    const rows = await browser.demo.server.context.state.all<{ body: Uint8Array }>('select body from market_documents')
    const markets = rows.map(({ body }) => JSON.parse(Buffer.from(body).toString()))
    return markets.find(({ closed }) => closed) ?? assert.fail('no market of the demo world is closed')
  }
  const change = (id: string, fields: Record<string, unknown>) =>
    browser.demo.server.context.state.write((tx) =>
      putMarkets(tx, [{ kind: 'market', id, fields, partial: true }], Date.now()),
    )

  test('begins with the most traded open markets, needs no key, and finds others while one types', async () => {
    const page = await browser.page('/#/markets', { key: '' })
    await page.getByRole('heading', { name: 'Most traded open markets' }).waitFor()
    await page.locator('.found li').nth(19).waitFor()
    await browser.accessible(page)
    await page.getByRole('searchbox').fill('harbour bridge toll')
    await page.getByRole('heading', { name: 'Markets with “harbour bridge toll”' }).waitFor()
    const links = page.locator('.found a')
    await links.nth(1).waitFor({ state: 'detached' })
    assert.equal(await links.count(), 1)
    assert.match(page.url(), /\?q=harbour\+bridge\+toll$/)
    await links.click()
    await page.getByRole('heading', { level: 1, name: /toll/ }).waitFor()
    await page.goBack()
    await page.getByRole('searchbox').fill('nobody asks this')
    await page.getByText('None. Every word must begin a word of the market').waitFor()
    await browser.leave(page)
  })

  test('an address that is gone to is followed, and the back button leads from one search to the one before', async () => {
    const page = await browser.page('/#/markets')
    const box = page.getByRole('searchbox')
    const shown = (words: string) => page.getByRole('heading', { name: `Markets with “${words}”` }).waitFor()
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

  test('shows a market whole: outcomes, figures, its event’s other markets, tags, addresses', async () => {
    const page = await browser.page(`/#/markets/${slug}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const outcomes = page.locator('.outcomes li')
    assert.equal(await outcomes.count(), 2)
    assert.match((await outcomes.first().textContent()) ?? '', /^Yes\d+ %$/)
    await page.getByRole('img', { name: 'Prices over time' }).waitFor()
    await browser.accessible(page)
    await page.getByRole('button', { name: 'Who funded them?' }).click()
    await page
      .getByText(/No transfer ever came in|hops? back/)
      .first()
      .waitFor()
    const creator = page.getByRole('row', { name: /creator/ }).getByRole('link')
    assert.match((await creator.getAttribute('href')) ?? '', /#\/explorer\/1\/0x[0-9a-f]{40}$/)
    const siblings = page.locator('.siblings a:not([aria-current])')
    assert.equal(await siblings.count(), 3)
    const name = (await siblings.first().textContent()) ?? ''
    await siblings.first().click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await browser.leave(page)
  })

  test('a change appears without asking, and the market can be seen as it was before it', async () => {
    const market = await quiet()
    const page = await browser.page(`/#/markets/${market.slug}`)
    await page.getByText('Live', { exact: true }).waitFor()
    await change(market.id, { oracleResolutionStatus: 'first word' })
    await page.getByText('resolved → first word').waitFor()
    await page.locator('.facts').getByText('first word').waitFor()
    await change(market.id, { oracleResolutionStatus: 'second word' })
    await page.getByText('first word → second word').waitFor()
    // The older of the two is now the past.
    await page.locator('.changes li', { hasText: '→ first word' }).getByRole('link').click()
    await page.getByText('The market as it was known here at').waitFor()
    await page.locator('.facts').getByText('first word').waitFor()
    assert.match(page.url(), /asOf=/)
    await page.locator('.changes .shown', { hasText: '→ first word' }).waitFor()
    await browser.accessible(page)
    await page.getByRole('link', { name: 'Back to now' }).click()
    await page.locator('.facts').getByText('second word').waitFor()
    await browser.leave(page)
  })

  test('the plot follows the buttons, and the address keeps what is shown', async () => {
    const page = await browser.page(`/#/markets/${slug}?plot=volume`)
    await page.getByRole('img', { name: 'Volume over time' }).waitFor()
    await page.getByRole('button', { name: 'Bid and ask' }).click()
    await page.getByRole('img', { name: 'Bid and ask over time' }).waitFor()
    await page.getByText('also its event, series and tags').click()
    await page.locator('.changes .badge', { hasText: 'event' }).first().waitFor()
    assert.match(page.url(), /plot=book&related=1$/)
    await browser.leave(page)
  })

  test('in the dark on a narrow screen nothing is wider than the screen', async () => {
    const options = { colorScheme: 'dark', viewport: { width: 360, height: 800 } } as const
    for (const place of ['/#/markets', `/#/markets/${slug}`]) {
      const page = await browser.page(place, options)
      await page.locator('.found li, .changes li').first().waitFor()
      const { wide, screen } = await page.evaluate(() => {
        const { scrollWidth: wide, clientWidth: screen } = document.documentElement
        return { wide, screen }
      })
      assert.ok(wide <= screen, `${place}: ${wide} px`)
      await browser.accessible(page)
      await browser.leave(page)
    }
  })

  test('a slug that nobody has leads to a search for its words, and no page complained so far', async () => {
    // The browser itself complains about every 404.
    browser.done()
    const page = await browser.page('/#/markets/harbour-bridge-nowhere')
    await page.getByText('There is no market with this slug').waitFor()
    await page.getByRole('link', { name: 'Search for its words' }).click()
    assert.equal(await page.getByRole('searchbox').inputValue(), 'harbour bridge nowhere')
  })
})
