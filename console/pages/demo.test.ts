// What the console shows only while the server runs the demo.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

describe('the demo in the console', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser[Symbol.asyncDispose]())

  const demoKeyButton = (page: Page) => page.getByRole('main').getByRole('button', { name: 'Use the demo key' })

  test('every page says that the data is demo data', async () => {
    const page = await browser.page('/#/overview', { key: '', viewport: { width: 390, height: 800 } })
    for (const name of ['Overview', 'Explorer', 'FX', 'Validators', 'Markets', 'Keys']) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page
        .getByRole('note')
        .getByText(/^Demo data\..* Time is compressed: /)
        .waitFor()
    }
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('pages without a key offer the demo key, and one click is enough', async () => {
    const address = browser.demo.samples.address
    for (const [path, shown] of [
      ['/#/explorer', 'Labels'],
      [`/#/explorer/1/${address}`, 'First funding'],
      ['/#/validators', 'Pools'],
      ['/#/fx', 'Request a quote'],
    ] as const) {
      const page = await browser.page(path, { key: '' })
      await page.getByText('This needs an API key, and none is set. Set a key with the key button').first().waitFor()
      await browser.accessible(page)
      await demoKeyButton(page).first().click()
      await page.getByRole('heading', { name: shown }).first().waitFor()
      await demoKeyButton(page).first().waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Key demo' }).waitFor()
      assert.equal(await page.getByRole('alert').count(), 0, path)
      await browser.leave(page)
    }
    browser.done()
  })

  test('the key of an earlier start can be replaced with one click', async () => {
    const page = await browser.page('/#/explorer', { key: `tetrad:demo:${'A'.repeat(43)}` })
    await page.getByText(/^The server rejected the API key/).waitFor()
    await demoKeyButton(page).first().click()
    await page.getByText(/^The server rejected the API key/).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Key demo' }).click()
    assert.equal(await page.getByRole('button', { name: 'Use the demo key' }).count(), 0)
    await browser.leave(page)
  })

  test('the key dialog offers the demo key', async () => {
    const other = await browser.page('/#/fx', { key: '' })
    await other.getByRole('button', { name: 'Set a key' }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Use the demo key' }).click()
    await other.getByRole('heading', { name: 'Request a quote' }).waitFor()
    await browser.leave(other)
  })

  test('a server with its own data shows neither the banner nor a key', async () => {
    const withoutDemo = async (page: Page) => {
      await page.route('**/console/session', async (route) => {
        const reply = await route.fetch()
        const { demoKey, ...session } = (await reply.json()) as { demoKey?: string }
        assert.match(demoKey ?? '', /^tetrad:demo:/)
        await route.fulfill({ response: reply, json: session })
      })
    }
    const page = await browser.page('/#/fx', { key: '', before: withoutDemo })
    await page.getByText('This needs an API key, and none is set. Set a key with the key button').waitFor()
    await page.getByRole('button', { name: 'Set a key' }).waitFor()
    assert.deepEqual([await page.getByRole('note').count(), await demoKeyButton(page).count()], [0, 0])
    await browser.leave(page)
  })

  test('a page whose first request for the session failed asks again', async () => {
    let failures = 0
    const failOnce = async (page: Page) => {
      await page.route('**/console/session', (route) => (failures++ === 0 ? route.abort() : route.continue()))
    }
    const page = await browser.page('/#/overview', { key: '', before: failOnce })
    await page
      .getByRole('note')
      .getByText(/^Demo data\./)
      .waitFor()
    assert.ok(failures >= 2)
    await browser.leave(page)
  })
})
