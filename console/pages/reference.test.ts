import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { allRoutes } from '#api/routes.ts'
import { noBrowser, openBrowser } from '#test/browser.ts'

/** Lines with raw backticks outside of code. */
const backticks = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const lines = [...document.querySelectorAll('main p, main td, main li')].map((element) => {
      const copy = element.cloneNode(true) as Element
      for (const quoted of copy.querySelectorAll('code, pre')) quoted.remove()
      return copy.textContent ?? ''
    })
    return lines.filter((line) => line.includes('`'))
  })

test('every endpoint has a page with errors and sample code, and can be called with the user’s key', {
  skip: noBrowser,
}, async () => {
  await using browser = await openBrowser()
  const page = await browser.page('/docs')
  await page.getByRole('heading', { name: 'API reference' }).waitFor()
  await browser.accessible(page)
  assert.deepEqual(await backticks(page), [])
  for (const id of Object.keys(allRoutes)) await page.getByRole('link', { name: id, exact: true }).waitFor()

  await page.getByRole('link', { name: 'fx.createQuote', exact: true }).click()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('200', { exact: true }).first().waitFor()
  const response = await page.getByRole('region', { name: 'Response body', exact: true }).innerText()
  assert.match(response, /"PermitWitnessTransferFrom"/)
  await browser.accessible(page)

  await page.goto(`${browser.demo.url}/docs#/explorer.fundedBy`)
  await page.getByLabel('address').fill(browser.demo.samples.address)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('region', { name: 'Response body', exact: true }).getByText('"fundingAddress"').waitFor()
  await page
    .getByText(`client.explorer.fundedBy({ chainid: '1', address: '${browser.demo.samples.address}' })`)
    .waitFor()
  const shell = await page.getByText(/^curl /).innerText()
  assert.match(shell, /apikey=tetrad%3A%3Cid%3E/)
  assert.ok(!shell.includes(browser.demo.key))

  for (const id of Object.keys(allRoutes)) {
    await page.goto(`${browser.demo.url}/docs#/${id}`)
    await page.getByRole('heading', { name: id, exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Errors' }).waitFor()
    assert.deepEqual(await backticks(page), [], id)
  }
  browser.done()
})
