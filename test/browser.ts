// A real browser in front of the demo world, for the tests of the console.
//   await using browser = await openBrowser()
//   const page = await browser.page('/#/explorer')
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, normalize } from 'node:path'
import { after } from 'node:test'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const root = normalize(join(import.meta.dirname, '..'))
const chromiumPaths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const chromiumPath = chromiumPaths.find((path) => path !== undefined && existsSync(path))

/** For a test's `skip`: why there is no browser, or false. */
export const noBrowser: string | false =
  chromiumPath === undefined && 'no Chromium: install the package `chromium`, or name the program in CHROMIUM'

export interface Browser extends AsyncDisposable {
  readonly demo: DemoServer
  /** A new visitor with a key, at a place in the console; `key: ''` for one without. */
  page(place: string, options?: PageOptions): Promise<Page>
  /** The visitor leaves; the next one gets the same page, without cookies, stored items, routes and listeners. */
  leave(page: Page): Promise<void>
  /** Fails with what axe finds on the page as it stands, in the theme it has. */
  accessible(page: Page): Promise<void>
  /** Fails when any page so far complained in its console. */
  done(): void
}

export interface PageOptions extends BrowserContextOptions {
  readonly key?: string
  /** A page that no visitor had before: nothing is in its cache. */
  readonly isNew?: boolean
  /** Runs before the page is loaded. */
  readonly before?: (page: Page) => Promise<void>
}

/** The browser's own services would only knock at a closed network. */
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run']

/** One Chromium serves all test files of a process; each page is a visitor of its own. */
let launching: ReturnType<typeof chromium.launch> | undefined
after(async () => (await launching)?.close())

function launch(executablePath: string): ReturnType<typeof chromium.launch> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet]
  launching ??= chromium.launch({ executablePath, args })
  return launching
}

/** Only what never happens takes longer, however busy the machine is. */
const pageTimeoutMs = 120_000

/**
 * Pages that visitors have left. A page in a new context costs about two seconds of CPU time, nearly all of it for the
 * renderer process; one that is used again costs a tenth of that.
 */
const idle: Page[] = []

const desktop = { width: 1280, height: 900 }

export async function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(noBrowser || '')
  build()
  const browser = await launch(chromiumPath)
  const world = await openDemoServer()
  const contexts = new Set<BrowserContext>()
  const complaints: string[] = []
  const own = new Set<Page>()

  const newPage = async (options: BrowserContextOptions) => {
    const context = await browser.newContext({ viewport: desktop, ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(pageTimeoutMs)
    return page
  }
  const listen = (page: Page) => {
    page.on('console', (said) => {
      if (said.type() !== 'error' && said.type() !== 'warning') return
      // A refusal is an answer; that the page tells it well is for the tests to see.
      if (/^Failed to load resource: .* status of 4\d\d/.test(said.text())) return
      complaints.push(`${page.url()}: ${said.text()}`)
    })
    page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`))
  }
  return {
    demo: world,
    async page(place, { key = world.key, isNew = false, before, ...options } = {}) {
      const { viewport, colorScheme, ...others } = options
      const isReusable = !isNew && before === undefined && Object.keys(others).length === 0
      const page = (isReusable ? idle.pop() : undefined) ?? (await newPage(others))
      contexts.add(page.context())
      if (isReusable) own.add(page)
      if (viewport !== null) await page.setViewportSize(viewport ?? desktop)
      await page.emulateMedia({ colorScheme: colorScheme ?? 'light' })
      await before?.(page)
      // A file of the same origin that runs nothing.
      await page.goto(new URL('/favicon.svg', world.url).href)
      await page.evaluate((text) => {
        localStorage.clear()
        sessionStorage.clear()
        if (text !== '') sessionStorage.setItem('tetrad-key', text)
      }, key)
      listen(page)
      await page.goto(new URL(place, world.url).href)
      return page
    },
    leave,
    accessible,
    done: () => assert.deepEqual(complaints, []),
    async [Symbol.asyncDispose]() {
      await Promise.all([...own].map(leave))
      await Promise.all([...contexts].map((context) => context.close()))
      await world[Symbol.asyncDispose]()
    },
  }

  async function leave(page: Page): Promise<void> {
    const context = page.context()
    contexts.delete(context)
    if (!own.delete(page)) return context.close()
    page.removeAllListeners()
    await page.goto('about:blank')
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await context.setOffline(false)
    await context.clearCookies()
    idle.push(page)
  }
}

/** `npm test` has built it; a single test file may be run before anybody did. */
function build(): void {
  if (existsSync(join(root, 'console/dist/index.html'))) return
  const done = spawnSync('npm', ['run', '--silent', 'console'], { cwd: root, encoding: 'utf8' })
  assert.equal(done.status, 0, done.stderr)
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

async function accessible(page: Page): Promise<void> {
  // The page's policy allows no script element but its own files; what the tool evaluates is exempt.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(readFileSync(axe, 'utf8'))
  const violations = await page.evaluate(async () => {
    const { axe: tool } = window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }
    return (await tool.run({ resultTypes: ['violations'] })).violations
  })
  const summary = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes.map((node) => `    ${node.html}\n    ${node.failureSummary ?? ''}`).join('\n')}`,
  )
  assert.deepEqual(summary, [])
}
