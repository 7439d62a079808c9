// What holds for every page: size, errors, titles, focus, narrow screens, and recovery after the server was down.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { createLink } from '#admin/sessions.ts'
import { createClient } from '#api/client/client.ts'
import { type Browser, noBrowser, openBrowser } from '#test/browser.ts'

describe('every page', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser[Symbol.asyncDispose]())

  const signInPath = async () => `/#/sign-in/${(await createLink(browser.demo.server.context)).token}`

  const openMenu = (page: Page) => page.getByRole('button', { name: 'Menu' }).click()

  test('the scripts and styles that every page needs have at most 40 kB, compressed', async () => {
    const html = await (await fetch(browser.demo.url)).text()
    const paths = Array.from(html.matchAll(/"(\/assets\/[^"]+\.(?:js|css))"/g), ([, path = '']) => path)
    assert.deepEqual([...new Set(paths.map((path) => path.split('.').at(-1)))].toSorted(), ['css', 'js'])
    let bytes = 0
    for (const path of paths)
      bytes += gzipSync(await (await fetch(new URL(path, browser.demo.url))).arrayBuffer()).length
    assert.ok(bytes <= 40_000, `${bytes} bytes`)
  })

  test('every page is reachable and fits a window of 360 px', async () => {
    const page = await browser.page(await signInPath(), { key: '', viewport: { width: 360, height: 800 } })
    await page.getByRole('heading', { name: 'History', exact: true }).waitFor()
    for (const [link, shown] of [
      ['Keys', 'All keys'],
      ['FX', 'Request a quote'],
      ['Overview', 'History'],
    ] as const) {
      await openMenu(page)
      await page.getByRole('navigation').getByRole('link', { name: link }).click()
      await page.getByRole('heading', { name: shown, exact: true }).waitFor()
      const { wide, outside } = await page.evaluate(() => ({
        wide: document.documentElement.scrollWidth,
        outside: [...document.querySelectorAll('nav a')].filter((link) => link.getBoundingClientRect().right > 360)
          .length,
      }))
      assert.deepEqual([wide, outside], [360, 0], link)
    }
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('on a tablet, at a zoom of 200 %, and on a phone, no table is cut off, and the label of the time zone covers no other', async () => {
    const { id } = await createClient({ baseUrl: browser.demo.url, key: browser.demo.key }).fx.createQuote({
      ...{ from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
    })
    const paths = [
      ...['/market', '/validators', '/validators?q=Lantern%20Pool', '/validators/compare?of=12,34'],
      ...['/explorer/1?q=amber', '/explorer/1?q=exchange', '/fx', `/fx/${id}`],
    ]
    for (const [width, path] of [768, 640, 390].flatMap((width) => paths.map((path) => [width, path] as const))) {
      const page = await browser.page(path, { viewport: { width, height: 900 } })
      await page
        .locator(path === '/fx' ? '.plot-zone' : '.scroll tbody tr:visible')
        .first()
        .waitFor()
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, path)
      const cut = await page
        .locator('.scroll:has(> table)')
        .evaluateAll((regions) =>
          regions
            .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
            .map((region) => region.getAttribute('aria-label')),
        )
      assert.deepEqual(cut, [], `${path}, ${width} px`)
      // Half of the widest label of the axis may be left of the plot.
      const spaces = await page.locator('.plot-zone').evaluateAll((zones) =>
        zones.map((zone) => {
          const plot = zone.parentElement?.getBoundingClientRect().left ?? 0
          return plot - zone.getBoundingClientRect().right
        }),
      )
      assert.ok(
        spaces.every((space) => space >= 20),
        `${path}: ${spaces}`,
      )
      await browser.leave(page)
    }
  })

  test('on a phone, a table that is shown as a list can be sorted', async () => {
    const page = await browser.page('/validators', { viewport: { width: 390, height: 800 } })
    const names = page.getByRole('region', { name: 'Pools: table' }).locator('tbody a')
    await names.first().waitFor()
    await page.getByRole('button', { name: 'Name', exact: true }).click()
    await page.getByRole('button', { name: 'Name ↑' }).waitFor()
    await page.waitForFunction(() => {
      const shown = [...document.querySelectorAll('[aria-labelledby="pools"] tbody a')]
      const texts = shown.map(({ textContent }) => textContent ?? '')
      return texts.length > 1 && texts.join() === texts.toSorted().join()
    })
    assert.equal(await names.first().isVisible(), true)
    await browser.accessible(page)
    await browser.leave(page)
  })

  test('on a narrow screen, pages, key and theme are in a menu that closes with a link and with Escape', async () => {
    const page = await browser.page('/#/markets', { viewport: { width: 390, height: 800 } })
    const [menu, navigation] = [page.getByRole('button', { name: 'Menu' }), page.getByRole('navigation')]
    await page.getByRole('heading', { level: 1, name: 'Markets' }).waitFor()
    const inMenu = [navigation, page.getByRole('button', { name: /^Key: / }), page.getByLabel('Theme')]
    for (const item of inMenu) assert.equal(await item.isVisible(), false)
    assert.ok((await page.locator('header').evaluate((header) => header.clientHeight)) <= 64)
    await menu.click()
    for (const item of inMenu) await item.waitFor()
    assert.equal(await menu.getAttribute('aria-expanded'), 'true')
    await browser.accessible(page)
    await page.keyboard.press('Escape')
    await navigation.waitFor({ state: 'hidden' })
    assert.equal(await menu.evaluate((button) => button === document.activeElement), true)
    await menu.click()
    await navigation.getByRole('link', { name: 'FX' }).click()
    await page.getByRole('heading', { level: 1, name: 'FX' }).waitFor()
    await navigation.waitFor({ state: 'hidden' })
    await page.setViewportSize({ width: 1280, height: 800 })
    for (const item of inMenu) await item.waitFor()
    assert.equal(await menu.isVisible(), false)
    const key = page.getByRole('button', { name: /^Key: / })
    assert.equal(await key.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0)
    await browser.leave(page)
  })

  test('a page that throws shows the error, and other pages still work', async () => {
    const page = await browser.page('/#/overview', {
      key: '',
      before: async (newPage: Page) => {
        await newPage.route('**/coverage', (route) => route.fulfill({ json: { streams: null } }))
      },
    })
    await page.getByRole('alert').getByText('This page failed:').waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).click()
    await page.getByText('Sign in to manage keys.').waitFor()
    assert.equal(await page.getByText('This page failed:').count(), 0)
    await browser.leave(page)
  })

  test('a page has its heading before its data is there', async () => {
    for (const [path, call, heading] of [
      ['/#/markets/some-market', '**/markets/slug/**', 'some-market'],
      ['/#/explorer/entity/some-entity', '**/console/explorer/entities/**', 'some-entity'],
      ['/#/validators/0', '**/v0/eth/validators/0', 'Validator 0'],
    ] as const) {
      const page = await browser.page(path, {
        before: async (newPage: Page) => {
          // The response never comes.
          await newPage.route(call, () => {})
        },
      })
      await page.locator('main').getByText('Loading').first().waitFor()
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await browser.accessible(page)
      await browser.leave(page)
    }
  })

  test('the overview reports nodes that disagree, and errors of sources', async () => {
    const page = await browser.page('/#/overview', {
      before: async (newPage: Page) => {
        await newPage.route('**/coverage', async (route) => {
          const report = (await (await route.fetch()).json()) as { streams: object[] }
          const streams = report.streams.map((stream) => ({
            ...stream,
            nodes: 'disagree',
            problem: 'node.test: no answer',
          }))
          await route.fulfill({ json: { ...report, streams } })
        })
      },
    })
    await page.getByText('Its nodes disagree, so nothing is stored: node.test: no answer.').first().waitFor()
    await page.getByRole('heading', { name: /^Ready, with \d+ problems$/ }).waitFor()
    await browser.accessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await browser.accessibleStyle(page)
    await browser.leave(page)
  })

  test('unknown pages and quotes show an error', async () => {
    const page = await browser.page('/#/nope/x')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByText('/nope/x').waitFor()
    await browser.accessible(page)
    await page.goto(new URL('/#/fx/nope', browser.demo.url).href)
    await page.getByText('nope is not a quote id.').waitFor()
    await browser.accessible(page)
    await page.goto(new URL('/#/fx/6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c', browser.demo.url).href)
    await page.getByText('Quote 6f1c0a52').waitFor()
    await browser.leave(page)
  })

  test('a mistyped address shows the page that was meant and a search, with status 404', async () => {
    const page = await browser.page('/')
    const open = async (path: string) => (await page.goto(new URL(path, browser.demo.url).href))?.status()
    const notFound = page.getByRole('heading', { level: 1, name: 'Page not found' })
    assert.equal(await open('/validatorss/12?network=mainnet'), 404)
    await notFound.waitFor()
    assert.equal(await page.title(), 'Page not found · Tetrad')
    await browser.accessible(page)
    await page.getByRole('link', { name: '/validators/12?network=mainnet' }).click()
    await page.getByRole('heading', { level: 1, name: 'Validator 12' }).waitFor()
    // As in other explorers.
    const { address } = browser.demo.samples
    assert.equal(await open(`/address/${address}`), 404)
    await notFound.waitFor()
    await page.getByRole('button', { name: `Search for “${address}”` }).click()
    await page.getByRole('dialog').getByRole('region', { name: 'Addresses' }).getByRole('link').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: `Address ${address}` }).waitFor()
    await browser.leave(page)
  })

  test('each page has its own title, and navigation moves the focus to its heading', async () => {
    const page = await browser.page('/#/markets?q=harbour%20bridge')
    const focused = (name: string) => page.locator('h1:focus', { hasText: name }).waitFor()
    const titled = (title: string) => page.waitForFunction((text) => document.title === text, title)
    await titled('Markets · Tetrad')
    assert.equal(await page.locator('h1:focus').count(), 0)
    await page.getByRole('link', { name: 'Will the harbour bridge open on time?' }).first().click()
    await focused('Will the harbour bridge open on time?')
    await titled('Will the harbour bridge open on time? · Markets · Tetrad')
    await page.getByRole('navigation').getByRole('link', { name: 'Validators', exact: true }).click()
    await focused('Validators')
    await page.evaluate(() => window.location.assign('#/validators/12'))
    await focused('12')
    await titled('Validator 12 · Validators · Tetrad')
    await browser.leave(page)
  })

  test('the address of a page can be opened, shared and reloaded, and back and forward follow it', async () => {
    const page = await browser.page('/validators/12?network=mainnet')
    const shows = (name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
    const isAt = (path: string) => page.waitForURL((url) => `${url.pathname}${url.search}${url.hash}` === path)
    await shows('Validator 12')
    // A page that loads again has lost it.
    await page.evaluate(() => Object.assign(window, { isSameDocument: true }))
    await page.getByRole('navigation').getByRole('link', { name: 'Markets' }).click()
    await isAt('/market')
    const market = page.locator('main a[href^="/market/"]').first()
    const [href, question] = [await market.getAttribute('href'), await market.textContent()]
    await market.click()
    await isAt(href ?? '')
    await shows(question ?? '')
    await page.goBack()
    await page.goBack()
    await shows('Validator 12')
    await isAt('/validators/12?network=mainnet')
    await page.goForward()
    await shows('Markets')
    assert.ok(await page.evaluate(() => 'isSameDocument' in window))
    await page.reload()
    await shows('Markets')
    const opening = page.context().waitForEvent('page')
    await page
      .getByRole('navigation')
      .getByRole('link', { name: 'FX' })
      .click({ modifiers: ['ControlOrMeta'] })
    const tab = await opening
    await tab.getByRole('heading', { level: 1, name: 'FX' }).waitFor()
    await tab.close()
    await isAt('/market')
    await browser.leave(page)
  })

  test('a link of an earlier version opens its page and gets its address; the server never sees a sign-in token', async () => {
    const page = await browser.page('/#/validators/12?network=mainnet')
    await page.getByRole('heading', { level: 1, name: 'Validator 12' }).waitFor()
    assert.equal(page.url(), `${browser.demo.url}/validators/12?network=mainnet`)
    await browser.leave(page)
    const path = await signInPath()
    const requested: string[] = []
    const operator = await browser.page(path, {
      key: '',
      before: async (opened) => void opened.on('request', (request) => requested.push(request.url())),
    })
    await operator.getByRole('button', { name: 'Sign out' }).waitFor()
    await operator.waitForURL('**/overview')
    const token = path.split('/').at(-1) ?? ''
    // The browser reports the fragment, which it does not send.
    assert.deepEqual(
      requested.filter((url) => url.split('#', 1)[0]?.includes(token)),
      [],
    )
    await browser.leave(operator)
  })

  test('a used link and an invalid key each show what to do, once', async () => {
    const path = await signInPath()
    const first = await browser.page(path, { key: '' })
    await first.getByRole('button', { name: 'Sign out' }).waitFor()
    await browser.leave(first)
    const second = await browser.page(path, { key: '' })
    await second.getByRole('alert').waitFor()
    assert.equal((await second.getByRole('main').innerText()).split('tetrad console link').length, 2)
    await browser.leave(second)

    const withInvalidKey = await browser.page('/#/explorer', { key: 'tetrad:unknown:invalid' })
    await withInvalidKey.getByText(/^The server rejected the API key: .*revoked\. Set a key/).waitFor()
    await browser.leave(withInvalidKey)
    browser.done()
  })

  test('the overview shows since when the server does not respond, and recovers when it does', async () => {
    const [anonymous, operator] = [
      await browser.page('/#/overview', { key: '' }),
      await browser.page(await signInPath(), { key: '' }),
    ]
    const readyOn = (page: Page) => page.getByRole('heading', { name: 'Ready, and all data is up to date' })
    for (const page of [anonymous, operator]) {
      await readyOn(page).waitFor()
      await page.context().setOffline(true)
    }
    for (const page of [anonymous, operator]) {
      await page.getByText(/^The server has not responded since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./).waitFor()
      assert.equal(await readyOn(page).count(), 0)
      if (page === operator) await browser.accessible(page)
      await page.context().setOffline(false)
    }
    for (const page of [anonymous, operator]) {
      await readyOn(page).waitFor()
      // Each part of the page recovers with its own next request.
      await page.getByRole('alert').first().waitFor({ state: 'detached' })
      await browser.leave(page)
    }
  })

  test('a page that could not be loaded while the server was down loads when it is back', async () => {
    const page = await browser.page('/#/overview', { isNew: true })
    await page.getByRole('heading', { name: 'Ready, and all data is up to date' }).waitFor()
    await page.context().setOffline(true)
    await page.getByRole('navigation').getByRole('link', { name: 'Markets' }).click()
    await page.getByText('This page could not be loaded because the server does not respond.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await browser.accessible(page)
    await page.context().setOffline(false)
    await page.getByRole('heading', { name: 'Most traded open markets' }).waitFor()
    await browser.leave(page)
  })
})
