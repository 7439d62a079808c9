import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { createLink, signOutAll } from '#admin/sessions.ts'
import { createClient } from '#api/client/client.ts'
import { createKey } from '#storage/keys.ts'
import { noBrowser, openBrowser } from '#test/browser.ts'

test('operator pages', { skip: noBrowser }, async (t) => {
  await using browser = await openBrowser()
  await t.test(
    'visitors see the coverage; the operator signs in with a one-time link and sees the requests',
    {
      skip: noBrowser,
    },
    async () => {
      const { demo } = browser
      const anonymous = await browser.page('/#/overview', { key: '' })
      await anonymous.getByRole('heading', { name: 'Ready, and all data is up to date' }).waitFor()
      await anonymous.getByRole('img', { name: /^chain 1: from 0 to/ }).waitFor()
      await anonymous.getByText('Sign in to see requests and errors of sources.').waitFor()
      await browser.accessible(anonymous)
      await browser.leave(anonymous)

      const { token } = await createLink(demo.server.context)
      const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await page.getByRole('heading', { name: 'History', exact: true }).waitFor()
      assert.ok(!page.url().includes(token))
      await page.getByRole('button', { name: /^Key: / }).waitFor()
      await page.locator('.stream', { hasText: 'Rates demo-north' }).getByText('up to date').waitFor()
      await browser.accessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await browser.accessibleStyle(page)
      browser.done()

      const usedLink = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await usedLink.getByRole('alert').waitFor()
      await browser.leave(usedLink)
      await page.goto(`${demo.url}/#/sign-in/${token}`)
      await page.getByRole('heading', { name: 'History', exact: true }).waitFor()

      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('Sign in to see requests and errors of sources.').waitFor()
      await page.goto(`${demo.url}/#/keys`)
      await page.getByText('Sign in to manage keys.').waitFor()
      await browser.leave(page)
    },
  )

  await t.test('a chain that is searched on request shows no progress', async () => {
    const page = await browser.page('/#/overview', {
      key: '',
      before: async (opened) => {
        await opened.route('**/coverage', async (route) => {
          const response = await route.fetch()
          const body = (await response.json()) as { streams: { name: string }[] }
          const streams = body.streams.map((stream) =>
            stream.name === 'chain 1' ? { ...stream, status: 'on demand', from: 0, until: 0, read: 0 } : stream,
          )
          await route.fulfill({ response, json: { ...body, streams } })
        })
      },
    })
    const chain = page.locator('.stream', { hasText: 'Ethereum (1)' })
    await chain.getByText('The node is searched on request.').waitFor()
    assert.doesNotMatch((await chain.textContent()) ?? '', /0 of 0|unknown/)
    await browser.leave(page)
  })

  await t.test('on a narrow screen, a row of a key is a list with names of its values, and choices fit', async () => {
    const { token } = await createLink(browser.demo.server.context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '', viewport: { width: 390, height: 800 } })
    await page.getByRole('heading', { name: 'History', exact: true }).waitFor()
    // A choice is as wide as its longest option.
    const choice = page.getByLabel('Interface')
    await choice.waitFor()
    const [shown, needed] = await choice.evaluate((element) => {
      const select = element as HTMLElement
      const copy = select.cloneNode(true) as HTMLElement
      copy.style.cssText = 'position: absolute; width: auto'
      document.body.append(copy)
      const widths = [select.offsetWidth, copy.offsetWidth]
      copy.remove()
      return widths
    })
    assert.equal(shown, needed)
    await page.goto(`${browser.demo.url}/#/keys`)
    const table = page.getByRole('region', { name: 'API keys' })
    await table.getByRole('button', { name: /^Edit demo/ }).waitFor()
    assert.equal(await table.evaluate((region) => region.scrollWidth > region.clientWidth), false)
    const plan = table.locator('td[data-label="Plan"]').first()
    assert.match(await plan.evaluate((cell) => getComputedStyle(cell, '::before').content), /Plan: /)
    await browser.accessible(page)
    await table
      .getByRole('button', { name: /^New secret/ })
      .first()
      .click()
    await page.getByLabel('Old secret').waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    await browser.leave(page)
  })

  await t.test('the history of the server covers requests that this tab has not seen', async () => {
    const { demo } = browser
    const client = createClient({ baseUrl: demo.url, key: demo.key })
    await client.fx.currencies()
    const { token } = await createLink(demo.server.context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    const history = page.getByRole('region', { name: 'History' })
    await history.getByRole('img', { name: 'Response time, last hour' }).waitFor()
    await history.getByRole('img', { name: 'Age of the newest data, last hour' }).waitFor()
    await history.getByLabel('Interface').selectOption('fx')
    await history.getByRole('button', { name: 'Last day' }).click()
    const plot = history.getByRole('region', { name: /^Response time in ms/ })
    await plot.getByRole('img', { name: 'Response time, last day' }).waitFor()
    await plot.getByText('Show as a table').click()
    await plot.getByRole('columnheader', { name: 'p99' }).waitFor()
    await plot.getByRole('cell', { name: /^\d/ }).nth(1).waitFor()
    await browser.accessible(page)
    await browser.leave(page)
  })

  await t.test('a slow answer to an earlier request does not end a new session', async () => {
    const { token } = await createLink(browser.demo.server.context)
    const signedIn = Promise.withResolvers<void>()
    const page = await browser.page(`/#/sign-in/${token}`, {
      key: '',
      before: async (page) => {
        await page.route('**/console/session', async (route) => {
          if (route.request().method() !== 'GET') return route.continue()
          const response = await route.fetch()
          await signedIn.promise
          await route.fulfill({ response })
        })
      },
    })
    const signOut = page.getByRole('button', { name: 'Sign out' })
    await signOut.waitFor()
    const late = page.waitForResponse((response) => response.url().endsWith('/console/session'))
    signedIn.resolve()
    await (await late).finished()
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
    assert.ok(await signOut.isVisible())
    await browser.leave(page)
  })

  await t.test('a key can be created, used, edited, rotated and revoked, and its usage is counted', async () => {
    const { demo } = browser
    const { token } = await createLink(demo.server.context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByLabel('Name', { exact: true }).fill('treasury desk')
    await page.getByRole('combobox', { name: 'Plan' }).selectOption('standard')
    await page.getByRole('checkbox', { name: 'markets' }).uncheck()
    await page.getByRole('button', { name: 'Create' }).click()
    const key = await page.getByText(/^tetrad:[\w-]+:[\w-]+$/).innerText()
    await browser.accessible(page)

    const client = createClient({ baseUrl: demo.url, key })
    assert.equal((await client.fx.currencies()).chainId, 31337)
    const row = page.getByRole('row', { name: /treasury desk/ })
    await row.getByText('explorer, fx, validators').waitFor()

    await row.getByRole('button', { name: /^Edit/ }).click()
    await page.getByRole('heading', { name: /^Edit key / }).waitFor()
    await browser.accessible(page)
    await page.getByRole('checkbox', { name: 'markets' }).check()
    await page.getByLabel('Expires in days').fill('30')
    await page.getByRole('button', { name: 'Save' }).click()
    await row.getByText('explorer, fx, validators, markets').waitFor()
    assert.doesNotMatch(await row.innerText(), /never/)
    assert.equal((await client.fx.currencies()).chainId, 31337)

    await row.getByRole('button', { name: /^New secret/ }).click()
    await page.getByLabel('Old secret').selectOption('works for 1 day')
    await browser.accessible(page)
    await page.getByRole('button', { name: 'Create secret' }).click()
    const secondKey = await page.getByText(/^tetrad:[\w-]+:[\w-]+$/).innerText()
    await page.getByText(/^The old secret works until \d/).waitFor()
    await row.getByText(/^old secret works until/).waitFor()
    const secondClient = createClient({ baseUrl: demo.url, key: secondKey })
    for (const caller of [client, secondClient]) assert.equal((await caller.fx.currencies()).chainId, 31337)
    await page.getByRole('button', { name: 'Done' }).click()

    await row.getByRole('button', { name: /^New secret/ }).click()
    await page.getByText(/^An older secret still works until/).waitFor()
    await page.getByRole('button', { name: 'Create secret' }).click()
    const newKey = await page.getByText(/^tetrad:[\w-]+:[\w-]+$/).innerText()
    await page.getByText('The old secret no longer works.').waitFor()
    for (const caller of [client, secondClient]) await assert.rejects(caller.fx.currencies(), { status: 401 })
    const newClient = createClient({ baseUrl: demo.url, key: newKey })
    assert.equal((await newClient.fx.currencies()).chainId, 31337)

    // The page asks first, in a dialog of its own. Escape and Cancel keep the key and return the focus.
    const revoke = row.getByRole('button', { name: /^Revoke/ })
    const dialog = page.getByRole('alertdialog', { name: 'Revoke treasury desk?' })
    await revoke.click()
    await dialog.getByText('are rejected at once; on other servers within a second').waitFor()
    await dialog.locator('button:focus', { hasText: 'Cancel' }).waitFor()
    await browser.accessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await revoke.click()
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await row.locator('button:focus', { hasText: 'Revoke' }).waitFor()
    assert.equal((await newClient.fx.currencies()).chainId, 31337)
    await revoke.click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await row.getByText('revoked').waitFor()
    await assert.rejects(newClient.fx.currencies(), { status: 401 })

    await row.getByRole('link', { name: 'treasury desk' }).click()
    await page.getByRole('row', { name: /fx\.currencies 6 0/ }).waitFor()
    await browser.accessible(page)
    await page.reload()
    for (const shown of [key, secondKey, newKey]) assert.equal(await page.getByText(shown).count(), 0)
    await browser.leave(page)
    browser.done()
  })

  await t.test('keys can be searched by name and paged through', async () => {
    const { context } = browser.demo.server
    for (let at = 0; at < 120; at++) {
      await createKey(context.state, { name: `caller ${at}`, plan: 'free' }, context.clock, context.random)
    }
    const { token } = await createLink(context)
    const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByText(/^Page 1 of 2, 12\d keys$/).waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByRole('link', { name: 'caller 1', exact: true }).waitFor()
    await page.getByText(/^Page 2 of 2/).waitFor()
    await browser.accessible(page)
    await page.getByLabel('Name or id').fill('CALLER 11')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1 of 1, 11 keys').waitFor()
    await page.getByLabel('Name or id').fill('no such key')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('No keys match.').waitFor()
    await page.goto(`${browser.demo.url}/#/keys/nope`)
    await page.getByText('Key nope does not exist.').waitFor()
    browser.done()
    await browser.leave(page)
  })

  await t.test('the operator sees open alerts of watched validators and sends a test alert', async () => {
    const { token } = await createLink(browser.demo.server.context)
    const alert = { network: 'mainnet', webhook: 'pager', event: 'attestations_missed', validatorIndex: 41 }
    const view = {
      webhooks: ['pager'],
      watched: [{ network: 'mainnet', total: 2, indices: [12, 41] }],
      open: [{ ...alert, sinceEpoch: 100 }],
    }
    const message = 'The test was not delivered: pager.test answered 500.'
    const page = await browser.page(`/#/sign-in/${token}`, {
      key: '',
      before: async (opened) => {
        await opened.route('**/console/alerts', (route) => route.fulfill({ json: view }))
        await opened.route('**/console/alerts/pager/test', (route) =>
          route.fulfill({ json: { isDelivered: false, message } }),
        )
      },
    })
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.goto(`${browser.demo.url}/#/validators/mine?network=mainnet`)
    const row = page.getByRole('row').filter({ hasText: 'missing attestations' })
    await row.getByRole('link', { name: '41' }).waitFor()
    await row.getByText('by the server').waitFor()
    await page.getByRole('button', { name: 'Send a test alert' }).click()
    await page.getByRole('status').getByText(message).waitFor()
    await browser.accessible(page)
    // The real call: the demo has no webhook.
    await page.unrouteAll()
    await page.reload()
    await page.getByText('No webhook is configured, so no alerts are sent.').waitFor()
    await browser.leave(page)
  })

  await t.test('a session that was ended elsewhere is noticed at the next request of any page', async () => {
    const { context } = browser.demo.server
    const actions: Record<string, (page: Page) => Locator> = {
      overview: (page) => page.getByRole('heading', { name: 'History', exact: true }),
      fx: (page) => page.getByRole('button', { name: 'Get quote' }),
      keys: (page) => page.getByRole('button', { name: 'Older' }),
      'explorer/1': (page) => page.getByText('Examples:').getByRole('link').first(),
    }
    for (const [path, actionOn] of Object.entries(actions)) {
      const { token } = await createLink(context)
      const page = await browser.page(`/#/sign-in/${token}`, { key: '' })
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.goto(new URL(`/#/${path}`, browser.demo.url).href)
      await actionOn(page).waitFor()
      if (path === 'fx') await page.getByRole('button', { name: 'Use an example' }).click()
      await signOutAll(context)
      // The overview sends requests by itself.
      if (path !== 'overview') await actionOn(page).click()
      await page.getByText('Your session has ended').waitFor()
      await page.getByRole('button', { name: 'Key: demo' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0)
      // Rejected keys count as failed attempts (behaviour/http.md#too-many-invalid-keys), so only one page signs in again.
      if (path === 'overview') {
        await browser.accessible(page)
        const again = await createLink(context)
        await page.goto(new URL(`/#/sign-in/${again.token}`, browser.demo.url).href)
        await page.getByRole('button', { name: 'Sign out' }).waitFor()
        assert.equal(await page.getByText('Your session has ended').count(), 0)
      }
      await browser.leave(page)
    }
    browser.done()
  })
})
