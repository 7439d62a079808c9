// A visitor of the demo, without a key, who starts on the start page with a question. Each answer must be at most three
// clicks away, or one search.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

const clicksMax = 3

describe('a visitor', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser[Symbol.asyncDispose]())

  /** Runs a visit and fails if it needs more than `clicksMax` clicks. */
  async function visit(
    answer: (page: Page, click: (target: Locator) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const page = await browser.page('/', { key: '' })
    await page.getByRole('heading', { level: 1, name: 'Chain data, quotes, ratings and markets' }).waitFor()
    let clicks = 0
    await answer(page, async (target) => {
      await target.first().click()
      clicks += 1
    })
    assert.ok(clicks <= clicksMax, `${clicks} clicks`)
    await browser.leave(page)
  }

  /** Types a text into the search and opens its first result of a kind with the keyboard. No click. */
  async function searchFor(page: Page, text: string, group: string): Promise<void> {
    await page.keyboard.press('/')
    await page.getByRole('dialog').getByRole('searchbox').fill(text)
    const first = page.getByRole('dialog').getByRole('region', { name: group }).getByRole('link').first()
    await first.waitFor()
    await first.press('Enter')
  }

  const answers = {
    funding: (page: Page) => page.locator('dt', { hasText: 'Funded by' }).waitFor(),
    cause: (page: Page) =>
      page
        .getByText(/: (?:partly its|not its|its) fault$/)
        .first()
        .waitFor(),
    weekOld: async (page: Page) => {
      const table = page.getByRole('region', { name: 'Earlier prices' })
      const title = '1 week ago'
      await table.getByRole('columnheader', { name: title }).waitFor()
      const titles = await table.getByRole('columnheader').allTextContents()
      // The first cell of a row is its header.
      const cell = table
        .getByRole('row')
        .nth(1)
        .getByRole('cell')
        .nth(titles.indexOf(title) - 1)
      await cell.filter({ hasText: /^\d+\.\d %$/ }).waitFor()
    },
    beaconNodes: (page: Page) => page.getByRole('heading', { level: 1, name: 'Which beacon node works' }).waitFor(),
  }

  test('finds the first funding of an address', async () => {
    await visit(async (page, click) => {
      await click(page.getByRole('link', { name: /^0x[0-9a-f]{6}…/ }))
      await answers.funding(page)
    })
    await visit(async (page) => {
      await searchFor(page, browser.demo.samples.address, 'Addresses')
      await answers.funding(page)
    })
  })

  test('finds the cause of a bad day of a validator', async () => {
    await visit(async (page, click) => {
      await click(page.getByRole('region', { name: 'Validator ratings' }).getByRole('listitem').getByRole('link'))
      await click(
        page
          .getByRole('region', { name: /^Validators/ })
          .getByRole('row')
          .nth(1)
          .getByRole('link'),
      )
      await answers.cause(page)
    })
    await visit(async (page) => {
      await searchFor(page, '12', 'Validators')
      await answers.cause(page)
    })
  })

  test('finds the price of a market a week ago', async () => {
    const question = 'Will the harbour bridge open on time?'
    await visit(async (page, click) => {
      await click(page.getByRole('region', { name: 'Prediction markets' }).getByRole('paragraph').getByRole('link'))
      await answers.weekOld(page)
    })
    await visit(async (page) => {
      await searchFor(page, question, 'Markets')
      await answers.weekOld(page)
    })
  })

  test('gets a quote', async () => {
    await visit(async (page, click) => {
      await click(page.getByRole('link', { name: 'Request a quote' }))
      await click(page.getByRole('button', { name: 'Get quote' }))
      await page.getByRole('heading', { name: 'What you sign' }).waitFor()
    })
  })

  test('finds the page about connecting a beacon node', async () => {
    await visit(async (page, click) => {
      await click(page.getByRole('link', { name: 'Documentation' }))
      await click(page.getByRole('link', { name: 'Beacon nodes' }))
      await answers.beaconNodes(page)
    })
    await visit(async (page) => {
      await searchFor(page, 'connect a beacon node', 'Documentation')
      await answers.beaconNodes(page)
    })
  })
})
