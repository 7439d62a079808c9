// What the console shows only while the server runs the demo.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { type Browser, hideDemoKey, noBrowser, openBrowser } from '#test/browser.ts'
import { demoAddress } from '../parts/demo-address.ts'

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
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page
        .getByRole('note')
        .getByText(/^Demo data\. Everything is generated, and time is compressed\./)
        .waitFor()
    }
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('the start page shows a live example of each interface without a key', async () => {
    assert.equal(demoAddress, browser.demo.samples.address)
    const page = await browser.page('/', { key: '' })
    const card = (name: string) => page.getByRole('region', { name })
    await card('Chain explorer')
      .getByText(/^where its money comes from, \d+ steps back$/)
      .waitFor()
    await card('FX quotes').getByText('EUR/USD, demo-north').waitFor()
    await card('Validator ratings').locator('.badge.rating').nth(2).waitFor()
    await card('Prediction markets')
      .getByText(/^\d+ %$/)
      .first()
      .waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    await browser.accessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await browser.accessibleStyle(page)
    await card('Validator ratings').getByRole('link', { name: 'Find a validator' }).click()
    await page.getByRole('heading', { level: 1, name: 'Validators' }).waitFor()
    await browser.leave(page)
  })

  test('the start page of a server without demo data asks for a key, and shows no errors', async () => {
    const page = await browser.page('/', { key: '', before: hideDemoKey })
    await page.getByText('Set a key to see an example.').nth(2).waitFor()
    await page
      .getByRole('region', { name: 'Prediction markets' })
      .getByText(/^\d+ %$/)
      .first()
      .waitFor()
    assert.deepEqual([await page.getByRole('alert').count(), await page.getByRole('note').count()], [0, 0])
    await browser.leave(page)
  })

  test('the overview of the demo is healthy, and its gap is marked as an example', async () => {
    const page = await browser.page('/#/overview', { key: '' })
    await page.getByRole('heading', { name: 'Ready, and all data is up to date' }).waitFor()
    const text = (await page.getByRole('main').innerText()).toLowerCase()
    for (const word of ['not syncing', 'stale', '1 gap']) assert.ok(!text.includes(word), word)
    assert.equal(await page.locator('main .bad, main .warn').count(), 0)
    const example = page.getByRole('region', { name: 'Example of a gap' })
    await example.getByText('The demo leaves these blocks out on purpose').waitFor()
    await example.getByText('117 of 177 blocks read (66.1 %).').waitFor()
    assert.equal(await page.getByText('117 of 177').count(), 1, 'not among the streams of the explorer')
    await page
      .getByText(/^\d+ of \d+ epochs read .* ago: epochs are read when they are final, three epochs later\.$/)
      .first()
      .waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('a visitor needs no click: the demo key applies by itself, also instead of that of an earlier start', async () => {
    const address = browser.demo.samples.address
    for (const [path, shown, key] of [
      ['/#/explorer', 'Labels', ''],
      [`/#/explorer/1/${address}`, 'First funding', ''],
      ['/#/validators', 'Pools', `tetrad:demo:${'A'.repeat(43)}`],
      ['/#/fx', 'Request a quote', ''],
    ] as const) {
      const page = await browser.page(path, { key })
      await page.getByRole('heading', { name: shown }).first().waitFor()
      await page.getByRole('button', { name: 'Key: demo' }).waitFor()
      await page.getByRole('alert').first().waitFor({ state: 'detached' })
      assert.equal(await demoKeyButton(page).count(), 0, path)
      await browser.leave(page)
    }
    browser.done()
  })

  test('a rejected key can be replaced with the demo key, on the page and in the dialog', async () => {
    const page = await browser.page('/#/explorer', { key: 'tetrad:unknown:invalid' })
    await page.getByText(/^The server rejected the API key/).waitFor()
    await browser.accessible(page)
    await demoKeyButton(page).first().click()
    await page.getByText(/^The server rejected the API key/).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Key: demo' }).click()
    assert.equal(await page.getByRole('button', { name: 'Use the demo key' }).count(), 0)
    await page.getByRole('button', { name: 'Remove the key' }).click()
    await page.getByRole('button', { name: 'Set a key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Use the demo key' }).click()
    await page.getByRole('button', { name: 'Key: demo' }).waitFor()
    await browser.leave(page)
  })

  test('a link opened in a new tab has the key of the other tabs, and a change applies to all', async () => {
    const page = await browser.page('/#/validators', {
      isNew: true,
      before: hideDemoKey,
    })
    await page.getByRole('heading', { name: 'Pools' }).waitFor()
    const opening = page.context().waitForEvent('page')
    await page
      .getByRole('navigation')
      .getByRole('link', { name: 'Explorer' })
      .click({ modifiers: ['ControlOrMeta'] })
    const tab = await opening
    await tab.getByRole('heading', { name: 'Labels' }).waitFor()
    await tab.getByText('This needs an API key').first().waitFor({ state: 'detached' })
    const docs = await page.context().newPage()
    await docs.goto(new URL('/docs/endpoints/fx.currencies.html', browser.demo.url).href)
    await docs.waitForFunction((key) => {
      return document.querySelector<HTMLInputElement>('[name=":key"]')?.value === key
    }, browser.demo.key)
    await tab.getByRole('button', { name: /^Key: / }).click()
    await tab.getByRole('button', { name: 'Remove the key' }).click()
    await page.getByRole('button', { name: 'Set a key' }).waitFor()
    assert.equal(await page.evaluate(() => localStorage.getItem('tetrad-key')), null)
    await browser.leave(page)
  })

  test('a server with its own data shows neither the banner nor a key', async () => {
    const page = await browser.page('/#/fx', { key: '', before: hideDemoKey })
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
