// A form that calls an endpoint with the user's key and shows the response unchanged. Below it, the same request as a curl
// command and as client code.
import { useId, useMemo, useState } from 'react'
import { toRequest } from '#api/request.ts'
import { allRoutes } from '#api/routes.ts'
import { clientOf, curlOf } from '#api/samples.ts'
import { BacktickText } from '../../parts/backtick-text.tsx'
import { Form } from '../../parts/controls.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { indentJson } from '../../parts/indent-json.ts'
import { NoKeyNote } from '../../parts/no-key-note.tsx'
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

/** The input without empty fields. The client has its own names for headers. */
function inputOf(entry: Entry, texts: Texts, body: string): Record<string, unknown> {
  const headerNames = Object.entries(allRoutes[entry.id].headers ?? {})
  const params = entry.parameters.flatMap(({ name, schema }) => {
    const text = texts[name]?.trim() ?? ''
    if (text === '') return []
    const inputName = headerNames.find(([, header]) => header === name)?.[0] ?? name
    return [[inputName, schema.type === 'array' ? text.split(',').map((item) => item.trim()) : text]]
  })
  return { ...Object.fromEntries(params), ...(entry.body && (JSON.parse(body) as object)) }
}

export function TryIt({ entry }: { readonly entry: Entry }) {
  const { key } = useConsoleContext()
  const [texts, setTexts] = useState<Texts>(() =>
    Object.fromEntries(entry.parameters.map(({ name, example }) => [name, toInputText(example)])),
  )
  const [body, setBody] = useState(() => JSON.stringify(entry.bodyExample ?? {}, null, 2))
  const [response, setResponse] = useState<ShownResponse>()
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const sample = useMemo(() => {
    try {
      const input = inputOf(entry, texts, body)
      const sampleKey = entry.auth === 'open' ? undefined : 'tetrad:<id>:<secret>'
      return {
        curl: curlOf(entry.id, window.location.origin, input, sampleKey),
        client: clientOf(entry.id, window.location.origin, input),
      }
    } catch (error) {
      return { problem: (error as Error).message }
    }
  }, [entry, texts, body])

  const send = async () => {
    setBusy(true)
    setProblem('')
    try {
      setResponse(await call(entry, inputOf(entry, texts, body), key))
    } catch (error) {
      setResponse(undefined)
      setProblem((error as Error).message)
    }
    setBusy(false)
  }
  return (
    <section className="card">
      {entry.requirements && (
        <div className="note">
          Requirements: <BacktickText text={entry.requirements} />
        </div>
      )}
      <Form onSubmit={send}>
        <div className="row">
          {entry.parameters.map((parameter) => (
            <ParameterInput
              key={parameter.name}
              parameter={parameter}
              text={texts[parameter.name] ?? ''}
              change={(text) => setTexts({ ...texts, [parameter.name]: text })}
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
            <span className="soft">
              This endpoint is a stream. Use the client code below, or open the page of a market.
            </span>
          ) : (
            <button type="submit" className="main" disabled={busy}>
              {busy ? 'Sending…' : 'Send'}
            </button>
          )}
        </p>
        {entry.auth !== 'open' && key === '' && <NoKeyNote />}
      </Form>
      {problem !== '' && (
        <div role="alert" className="note bad">
          {problem}
        </div>
      )}
      {response && <ResponseView response={response} />}
      {sample.problem !== undefined ? (
        <p className="soft">{sample.problem}</p>
      ) : (
        <>
          <Copyable title="curl" text={sample.curl ?? ''} />
          <Copyable title="TypeScript client" text={sample.client ?? ''} />
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

function ResponseView({ response: { status, tookMs, headers, text } }: { readonly response: ShownResponse }) {
  return (
    <div aria-live="polite">
      <p>
        <span className={`badge ${status < 400 ? 'good' : 'bad'}`}>{status}</span>{' '}
        <span className="soft small">
          {tookMs.toFixed(0)} ms, {text.length.toLocaleString('en')} characters
        </span>
      </p>
      <Scroll name="Response body">
        <pre>
          {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          {'\n\n'}
          {indentJson(text)}
        </pre>
      </Scroll>
    </div>
  )
}

function ParameterInput({
  parameter,
  text,
  change,
}: {
  readonly parameter: Parameter
  readonly text: string
  readonly change: (text: string) => void
}) {
  const id = useId()
  const choices = parameter.schema.enum ?? (parameter.schema.type === 'boolean' ? ['true', 'false'] : undefined)
  return (
    <label
      htmlFor={id}
      className={`field ${parameter.in === 'path' || parameter.schema.type === 'array' ? 'wide' : ''}`}
    >
      {parameter.name}
      {parameter.required ? ' (required)' : ''}
      {choices ? (
        <select id={id} value={text} onChange={({ target }) => change(target.value)}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          className="mono"
          value={text}
          required={parameter.required}
          placeholder={parameter.schema.default === undefined ? '' : String(parameter.schema.default)}
          onChange={({ target }) => change(target.value)}
        />
      )}
    </label>
  )
}
