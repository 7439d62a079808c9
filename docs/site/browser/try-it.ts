// The form of an endpoint page: calls the endpoint and shows the response unchanged. The samples of the page follow the
// values in the form. Pages that a Tetrad server delivers call that server, with the key of the console.

import { toRequest } from '#api/contract/request.ts'
import { type AnyId, allRoutes } from '#api/contract/routes.ts'
import { clientOf, curlOf, keyVariable, pythonOf } from '#api/contract/samples.ts'
import type { ConsoleKey, ConsoleSession } from '#shared/console-calls.ts'
import { needsDemoKey, openTabKey, readTabKey } from '../../../console/shared/tab-key.ts'
import { element } from './element.ts'
import { indentJson } from './indent-json.ts'

type Input = Readonly<Record<string, unknown>>

export async function connectTryIt(form: HTMLFormElement): Promise<void> {
  const id = form.dataset.endpoint as AnyId
  const isServed = document.documentElement.dataset.served !== undefined
  const field = <T extends HTMLElement = HTMLInputElement>(name: string) => form.elements.namedItem(name) as T | null
  const server = field(':server')
  const key = field(':key')
  if (server && isServed) server.value = location.origin

  const showKey = (text: string) => {
    if (key) key.value = text
  }
  const tabKey = openTabKey(showKey)
  showKey(readTabKey())
  key?.addEventListener('input', () => tabKey.keep(key.value.trim()))
  key?.addEventListener('change', () => tabKey.share(key.value.trim()))
  form.addEventListener('input', () => updateSamples(id, form))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(id, form)
  })
  updateSamples(id, form)
  if (!isServed) return

  const session = await readConsole<ConsoleSession>('GET', 'session')
  const host = session?.groups[allRoutes[id].group].host ?? ''
  if (server && host !== '') {
    server.value = `${location.protocol}//${host}${location.port && `:${location.port}`}`
    updateSamples(id, form)
  }
  const { demoKey } = session ?? {}
  if (demoKey !== undefined) form.querySelector('.demo')?.removeAttribute('hidden')
  if (!key) return
  const keepKey = (text: string) => {
    showKey(text)
    tabKey.keep(text)
  }
  if (session?.signedIn && key.value === '') keepKey((await readConsole<ConsoleKey>('POST', 'key'))?.key ?? '')
  if (!session?.signedIn && demoKey !== undefined && needsDemoKey(key.value)) keepKey(demoKey)
  const demoButton = form.querySelector<HTMLButtonElement>('.demo-key')
  if (!demoButton || demoKey === undefined || key.value === demoKey) return
  demoButton.hidden = false
  demoButton.addEventListener('click', () => {
    showKey(demoKey)
    tabKey.share(demoKey)
    demoButton.hidden = true
  })
}

/** The console's calls; undefined if the server refuses, or does not respond. */
async function readConsole<T>(method: 'GET' | 'POST', name: string): Promise<T | undefined> {
  const init = method === 'GET' ? {} : { method, headers: { 'content-type': 'application/json' }, body: '{}' }
  const response = await fetch(`/console/${name}`, init).catch(() => undefined)
  return response?.ok ? ((await response.json()) as T) : undefined
}

/** The values in the form without empty fields. */
function inputOf(form: HTMLFormElement): Input {
  const entries = [...new FormData(form)].flatMap(([name, value]) => {
    const text = String(value).trim()
    if (name.startsWith(':') || text === '') return []
    const { type = '', list } = (form.elements.namedItem(name) as HTMLElement).dataset
    const values = (list === undefined ? [text] : text.split(',')).map((item) => toTyped(item.trim(), type))
    return [[name, list === undefined ? values[0] : values]]
  })
  const body = (form.elements.namedItem(':body') as HTMLTextAreaElement | null)?.value
  return { ...Object.fromEntries(entries), ...(body !== undefined && (JSON.parse(body) as object)) }
}

/** A value that is not of the type stays text, so that the server reports it. */
function toTyped(text: string, type: string): unknown {
  if (type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  const isNumber = (type === 'integer' || type === 'number') && String(Number(text)) === text
  return isNumber ? Number(text) : text
}

const serverOf = (form: HTMLFormElement): string =>
  (form.elements.namedItem(':server') as HTMLInputElement).value.trim().replace(/\/+$/, '')

function updateSamples(id: AnyId, form: HTMLFormElement): void {
  const show = (language: string, text: string) => {
    const block = document.querySelector(`.samples [data-language=${language}] code`)
    if (block) block.textContent = text
  }
  try {
    const [input, server] = [inputOf(form), serverOf(form)]
    const key = allRoutes[id].auth === 'open' ? undefined : keyVariable
    show('sh', curlOf(id, server, input, key, ' \\\n  '))
    show('ts', clientOf(id, server, input))
    show('python', pythonOf(id, server, input))
  } catch {
    // The values are incomplete while the user types. The samples stay as they were.
  }
}

async function send(id: AnyId, form: HTMLFormElement): Promise<void> {
  const result = form.querySelector('.result')
  const button = form.querySelector<HTMLButtonElement>('button[type=submit]')
  if (!result || !button) return
  button.disabled = true
  button.textContent = 'Sending…'
  try {
    const keyField = form.elements.namedItem(':key') as HTMLInputElement | null
    const key = (keyField?.value.trim() ?? readTabKey()) || undefined
    const { url, method, headers, body } = toRequest(id, serverOf(form), inputOf(form), key)
    const startMs = performance.now()
    const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
    const text = await response.text()
    result.replaceChildren(...renderResponse(response, text, performance.now() - startMs))
  } catch (error) {
    const message = `The request failed: ${(error as Error).message}`
    result.replaceChildren(element('div', { class: 'note bad', role: 'alert' }, message))
  }
  button.disabled = false
  button.textContent = 'Send'
}

function renderResponse(response: Response, text: string, tookMs: number): HTMLElement[] {
  const shownHeaders = [...response.headers].filter(([name]) => /^(x-|etag|retry|content-type|cache)/.test(name))
  const content = `${shownHeaders.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${indentJson(text)}`
  const size = ` ${tookMs.toFixed(0)} ms, ${text.length.toLocaleString('en')} characters`
  return [
    element(
      'p',
      { role: 'status' },
      element('span', { class: `badge ${response.status < 400 ? 'good' : 'bad'}` }, String(response.status)),
      element('span', { class: 'soft small' }, size),
    ),
    element(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Response body' },
      element('pre', {}, content),
    ),
  ]
}
