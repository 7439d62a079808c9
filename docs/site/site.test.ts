// The documentation site in a browser: delivered by a server, and as static files.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { createLink } from '#admin/sessions.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'
import { buildSite } from './build.ts'

describe('the documentation site', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser[Symbol.asyncDispose]())

  const open = (page: Page, path: string) => page.goto(new URL(`/docs/${path}`, browser.demo.url).href)
  const results = (page: Page) => page.getByRole('listbox').getByRole('option')
  const search = async (page: Page, query: string) => {
    await page.keyboard.press('/')
    await page.keyboard.insertText(query)
    await results(page).first().waitFor()
  }

  test('an unknown page has status 404, the menu and a search that works', async () => {
    const page = await browser.page('/docs')
    const response = await open(page, 'endpoints/no/such-page')
    assert.equal(response?.status(), 404)
    await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor()
    await browser.accessible(page)
    await search(page, 'backup')
    await page.keyboard.press('Enter')
    await page
      .getByRole('main')
      .getByText(/tetrad backup/)
      .first()
      .waitFor()
    await open(page, 'no-such-page')
    await page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Getting started' }).click()
    await page.getByRole('heading', { name: 'Getting started', level: 1 }).waitFor()
    await browser.leave(page)
  })

  test('the search is used by keyboard and leads to the answer', async () => {
    const page = await browser.page('/docs')
    await page.getByRole('heading', { name: 'Tetrad documentation', level: 1 }).waitFor()
    for (const [query, answer] of [
      ['rotate a key', /tetrad keys rotate/],
      ['x-tetrad-coverage', /x-tetrad-coverage/],
      ['archive node', /--archive|archive node/i],
      ['Permit2', /Permit2/],
      ['backup', /tetrad backup/],
    ] as const) {
      await search(page, query)
      const href = await results(page).first().getAttribute('href')
      await page.keyboard.press('Enter')
      await page.waitForURL(href ?? '')
      await page.getByRole('main').getByText(answer).first().waitFor()
    }
    await search(page, 'backup')
    await browser.accessible(page)
    const second = await results(page).nth(1).getAttribute('href')
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.locator('[role=option][aria-selected=true]').getAttribute('href'), second)
    await page.keyboard.press('Enter')
    await page.waitForURL(second ?? '')
    await page.keyboard.press('/')
    await page.keyboard.insertText('zzzzqqq')
    await page.getByText('No results for "zzzzqqq".').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('No results for "zzzzqqq".').waitFor({ state: 'hidden' })
    // A closed list has no selected result that Enter could open.
    await page.getByRole('combobox', { name: 'Search the documentation' }).fill('backup')
    await results(page).first().waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('[role=option][aria-selected=true]').count(), 0)
    assert.equal(await results(page).first().isVisible(), false)
    await page.keyboard.press('ArrowDown')
    await results(page).first().waitFor()
    await browser.leave(page)
  })

  test('pages fit a window of 390 px, and the sidebar opens from the menu', async () => {
    const page = await browser.page('/docs/', { viewport: { width: 390, height: 800 }, colorScheme: 'dark' })
    for (const path of ['configuration', 'errors', 'explorer', 'behaviour/validators', 'endpoints/markets.bySlug']) {
      await open(page, `${path}.html`)
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, path)
    }
    await page.getByRole('button', { name: 'Menu' }).click()
    await browser.accessible(page)
    await page.getByRole('navigation').getByRole('link', { name: 'Rating method' }).click()
    await page.getByRole('heading', { name: 'Rating method', level: 1 }).waitFor()
    assert.equal(await page.getByRole('navigation').getByRole('link', { name: 'Errors' }).isVisible(), false)
    await browser.leave(page)
  })

  test('an endpoint can be called with the demo key, and the samples follow the form', async () => {
    const page = await browser.page('/docs/endpoints/fx.createQuote.html', {
      key: '',
      before: (opened) => opened.context().grantPermissions(['clipboard-read', 'clipboard-write']),
    })
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name=":key"]')?.value !== '')
    await page.getByRole('button', { name: 'Send' }).click()
    const response = page.getByRole('region', { name: 'Response body' })
    await response.getByText('"PermitWitnessTransferFrom"').first().waitFor()
    await browser.accessible(page)

    await open(page, 'endpoints/explorer.fundedBy.html')
    await page.getByLabel('address (required)').fill(browser.demo.samples.address)
    await page.getByRole('button', { name: 'Send' }).click()
    await response.getByText('"fundingAddress"').waitFor()
    const samples = page.locator('.samples')
    for (const [name, text] of [
      ['TypeScript', `address: '${browser.demo.samples.address}'`],
      ['Python', `'address': '${browser.demo.samples.address}'`],
      ['curl', `address=${browser.demo.samples.address}&apikey=$TETRAD_KEY`],
    ] as const) {
      await samples.getByRole('button', { name }).click()
      await samples.getByText(text).waitFor()
      await samples.getByRole('button', { name: 'Copy' }).click()
      await samples.getByRole('button', { name: 'Copied' }).waitFor()
      const copied = await page.evaluate(() => navigator.clipboard.readText())
      assert.equal(copied, await samples.locator('pre:visible').textContent())
      assert.ok(copied.includes(text) && copied.includes(browser.demo.url) && !copied.includes(browser.demo.key))
    }
    await samples.getByRole('button', { name: 'TypeScript' }).click()
    await open(page, 'endpoints/validators.aggregateEffectiveness.html')
    await page.getByLabel('size').fill('3')
    await samples.getByText('indices: [12, 34], size: 3,').waitFor()
    await browser.leave(page)
  })

  test('links and code on a page name the server that delivers it', async () => {
    const page = await browser.page('/docs/')
    await open(page, 'try')
    const link = page.getByRole('main').getByRole('link', { name: 'validator 90' })
    assert.equal(await link.evaluate((anchor: HTMLAnchorElement) => new URL(anchor.href).origin), browser.demo.url)
    await page
      .getByRole('main')
      .getByRole('link', { name: `${browser.demo.url}/`, exact: true })
      .waitFor()
    await open(page, 'markets')
    const code = (await page.getByRole('main').locator('code').allTextContents()).join('\n')
    assert.ok(code.includes(`curl '${browser.demo.url}/tags'`) && !code.includes('127.0.0.1:8080'), code)
    await browser.leave(page)
  })

  test('an operator calls endpoints with the key of the session', async () => {
    const { token } = await createLink(browser.demo.server.context)
    const page = await browser.page('/docs/', { key: '' })
    await page.evaluate(async (link) => {
      const headers = { 'content-type': 'application/json' }
      await fetch('/console/session', { method: 'POST', headers, body: JSON.stringify({ token: link }) })
    }, token)
    await open(page, 'endpoints/fx.currencies.html')
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name=":key"]')?.value !== '')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('region', { name: 'Response body' }).getByText('"USDC"').first().waitFor()
    await browser.leave(page)
  })

  test('pages work without scripts: the sidebar is visible, and forms are hidden', async () => {
    const page = await browser.page('/docs/', { javaScriptEnabled: false, viewport: { width: 390, height: 800 } })
    await page.getByRole('navigation').getByRole('link', { name: 'Endpoints' }).click()
    await page.getByRole('main').getByRole('link', { name: 'explorer.fundedBy', exact: true }).click()
    await page.getByRole('heading', { name: 'explorer.fundedBy', level: 1 }).waitFor()
    assert.equal(await page.getByText('from urllib.request import Request, urlopen').isVisible(), true)
    for (const name of ['Send', 'Copy', 'Menu']) assert.equal(await page.getByRole('button', { name }).count(), 0)
    await browser.leave(page)
  })

  test('the static files open from the file system, with search, and name the server to call', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-docs-'))
    try {
      await buildSite(join(dir, 'site'), { isServed: false })
      const page = await browser.page('/docs/')
      await page.goto(pathToFileURL(join(dir, 'site/index.html')).href)
      await page.getByRole('navigation').getByRole('link', { name: 'HTTP' }).click()
      await page.getByRole('heading', { name: 'HTTP behaviour', level: 1 }).waitFor()
      assert.equal(await page.getByRole('link', { name: 'Console', exact: true }).count(), 1)
      await search(page, 'fx.currencies')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'fx.currencies', level: 1 }).waitFor()
      await page.getByLabel('Server').fill(browser.demo.url)
      await page.getByLabel('API key').fill(browser.demo.key)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('region', { name: 'Response body' }).getByText('"USDC"').first().waitFor()
      await browser.leave(page)
    } finally {
      await rm(dir, { recursive: true })
    }
  })

  test('no page has logged an error', () => browser.done())
})
