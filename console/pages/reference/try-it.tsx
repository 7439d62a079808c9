// Calls an endpoint with what the visitor typed and the visitor's key, and shows the very bytes that came back. The same
// call stands below as a line for the shell and as lines for the client.
import { type FormEvent, useId, useMemo, useState } from 'react'
import { toRequest } from '#api/request.ts'
import { allRoutes } from '#api/routes.ts'
import { clientOf, curlOf } from '#api/samples.ts'
import { Prose } from '../../parts/backtick-text.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { noKeyYet } from '../../parts/failures.ts'
import { indented } from '../../parts/indented.ts'
import { Scroll } from '../../parts/scroll.tsx'
import { useConsoleContext } from '../../session.tsx'
import type { Entry, Parameter } from './document.ts'

type Texts = Readonly<Record<string, string>>

interface ShownResponse {
  readonly status: number
  readonly tookMs: number
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
}

const toInputText = (value: unknown): string => (value === undefined ? '' : [value].flat().join(','))

/** Only what was asked for counts; a header is known to the client by its own name. */
function inputOf(entry: Entry, texts: Texts, body: string): Record<string, unknown> {
  const names = Object.entries(allRoutes[entry.id].headers ?? {})
  const given = entry.parameters.flatMap(({ name, schema }) => {
    const text = texts[name]?.trim() ?? ''
    if (text === '') return []
    const own = names.find(([, header]) => header === name)?.[0] ?? name
    return [[own, schema.type === 'array' ? text.split(',').map((item) => item.trim()) : text]]
  })
  return { ...Object.fromEntries(given), ...(entry.body && (JSON.parse(body) as object)) }
}

export function TryIt({ entry }: { readonly entry: Entry }) {
  const { key } = useConsoleContext()
  const [texts, setTexts] = useState<Texts>(() =>
    Object.fromEntries(entry.parameters.map(({ name, example }) => [name, toInputText(example)])),
  )
  const [body, setBody] = useState(() => JSON.stringify(entry.bodyExample ?? {}, null, 2))
  const [seen, setSeen] = useState<ShownResponse>()
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const sample = useMemo(() => {
    try {
      const input = inputOf(entry, texts, body)
      const shownKey = entry.auth === 'open' ? undefined : 'tetrad:<id>:<secret>'
      return {
        curl: curlOf(entry.id, window.location.origin, input, shownKey),
        client: clientOf(entry.id, window.location.origin, input),
      }
    } catch (error) {
      return { problem: (error as Error).message }
    }
  }, [entry, texts, body])

  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      setSeen(await call(entry, inputOf(entry, texts, body), key))
    } catch (error) {
      setSeen(undefined)
      setProblem((error as Error).message)
    }
    setBusy(false)
  }
  return (
    <section className="card">
      {entry.needs && (
        <div className="note">
          It needs something first. <Prose text={entry.needs} />
        </div>
      )}
      <form onSubmit={send}>
        <div className="row">
          {entry.parameters.map((one) => (
            <ParameterInput
              key={one.name}
              of={one}
              text={texts[one.name] ?? ''}
              change={(text) => setTexts({ ...texts, [one.name]: text })}
            />
          ))}
        </div>
        {entry.body && (
          <label className="field">
            Body (JSON)
            <textarea rows={8} spellCheck={false} value={body} onChange={({ target }) => setBody(target.value)} />
          </label>
        )}
        <p className="row">
          {entry.stream ? (
            <span className="soft">This one never ends: use the client below, or look at a market's page.</span>
          ) : (
            <button type="submit" className="main" disabled={busy}>
              {busy ? 'Sending…' : 'Send'}
            </button>
          )}
          {entry.auth !== 'open' && key === '' && <span className="warn">{noKeyYet}</span>}
        </p>
      </form>
      {problem !== '' && (
        <div role="alert" className="note bad">
          {problem}
        </div>
      )}
      {seen && <Result seen={seen} />}
      {sample.problem !== undefined ? (
        <p className="soft">{sample.problem}</p>
      ) : (
        <>
          <Copyable title="In a shell" text={sample.curl ?? ''} />
          <Copyable title="With the client" text={sample.client ?? ''} />
        </>
      )}
    </section>
  )
}

async function call(entry: Entry, input: Record<string, unknown>, key: string): Promise<ShownResponse> {
  const { url, method, headers, body } = toRequest(
    entry.id,
    window.location.origin,
    input,
    key === '' ? undefined : key,
  )
  const startMs = performance.now()
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
  const text = await response.text()
  const tookMs = performance.now() - startMs
  return {
    status: response.status,
    tookMs,
    text,
    headers: [...response.headers].filter(([name]) => /^(x-|etag|retry|content-type|cache)/.test(name)),
  }
}

function Result({ seen: { status, tookMs, headers, text } }: { readonly seen: ShownResponse }) {
  return (
    <div aria-live="polite">
      <p>
        <span className={`badge ${status < 400 ? 'good' : 'bad'}`}>{status}</span>{' '}
        <span className="soft small">
          {tookMs.toFixed(0)} ms, {text.length.toLocaleString('en')} characters
        </span>
      </p>
      <Scroll name="The reply">
        <pre>
          {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          {'\n\n'}
          {indented(text)}
        </pre>
      </Scroll>
    </div>
  )
}

function ParameterInput({
  of,
  text,
  change,
}: {
  readonly of: Parameter
  readonly text: string
  readonly change: (text: string) => void
}) {
  const id = useId()
  const choices = of.schema.enum ?? (of.schema.type === 'boolean' ? ['true', 'false'] : undefined)
  return (
    <label htmlFor={id} className={`field ${of.in === 'path' || of.schema.type === 'array' ? 'wide' : ''}`}>
      {of.name}
      {of.required ? ' (needed)' : ''}
      {choices ? (
        <select id={id} value={text} onChange={({ target }) => change(target.value)}>
          <option value="">–</option>
          {choices.map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          className="mono"
          value={text}
          required={of.required}
          placeholder={of.schema.default === undefined ? '' : String(of.schema.default)}
          onChange={({ target }) => change(target.value)}
        />
      )}
    </label>
  )
}
