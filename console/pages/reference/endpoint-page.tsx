// The reference page of one endpoint: a form to try it, parameters, response and errors.
import { BacktickText } from '../../parts/backtick-text.tsx'
import { Columns } from '../../parts/columns.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { hrefOf } from '../../route.ts'
import { type Document, type Entry, fieldsOf, typeOf } from './document.ts'
import { TryIt } from './try-it.tsx'

const authLabels = {
  apikey: 'query parameter apikey',
  bearer: 'header authorization: Bearer <key>',
  open: 'not needed',
} as const

export function EndpointPage({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  return (
    <>
      <p className="small">
        <a href={hrefOf('reference')}>All endpoints</a>
      </p>
      <h1>{entry.id}</h1>
      <p className="lead">
        <BacktickText text={entry.summary} />
      </p>
      <p>
        <BacktickText text={entry.notes} />
      </p>
      <dl className="facts">
        <dt>Route</dt>
        <dd>
          <code>
            {entry.method} {entry.path}
          </code>
        </dd>
        {entry.select && (
          <>
            <dt>Selected by</dt>
            <dd>
              <code>
                module={entry.select.module}&amp;action={entry.select.action}
              </code>
            </dd>
          </>
        )}
        <dt>API key</dt>
        <dd>{authLabels[entry.auth]}</dd>
        <dt>Plan</dt>
        <dd>{entry.plan === 'free' ? 'any' : `${entry.plan} or higher`}</dd>
        {entry.perSecond && (
          <>
            <dt>Rate limit</dt>
            <dd>{entry.perSecond} requests per second on every plan</dd>
          </>
        )}
      </dl>
      <h2 className="gap">Try it</h2>
      <TryIt entry={entry} />
      <Parameters entry={entry} document={document} />
      <section className="card" aria-labelledby="response">
        <h2 id="response">Response</h2>
        <Fields name="Fields of the response" rows={fieldsOf(entry.reply, document)} />
        {entry.replyExample !== undefined && (
          <details>
            <summary>Show an example</summary>
            <pre>{JSON.stringify(entry.replyExample, null, 2)}</pre>
          </details>
        )}
      </section>
      <Failures entry={entry} />
    </>
  )
}

function Parameters({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  const body = entry.body ? fieldsOf(entry.body, document) : []
  if (entry.parameters.length + body.length === 0) return null
  return (
    <section className="card" aria-labelledby="parameters">
      <h2 id="parameters">Parameters</h2>
      <Scroll name="All parameters">
        <table>
          <Columns of={['Name', 'In', 'Type', 'Description']} />
          <tbody>
            {entry.parameters.map((parameter) => (
              <tr key={parameter.name}>
                <td>
                  <code>{parameter.name}</code>
                  {parameter.required && <span className="badge">required</span>}
                </td>
                <td>{parameter.in}</td>
                <td className="soft">
                  {typeOf(parameter.schema, document)}
                  {parameter.schema.default !== undefined && <> = {JSON.stringify(parameter.schema.default)}</>}
                </td>
                <td>
                  <BacktickText text={parameter.description} />
                </td>
              </tr>
            ))}
            {body.map((row) => (
              <tr key={row.path}>
                <td>
                  <code>{row.path}</code>
                  {row.required && <span className="badge">required</span>}
                </td>
                <td>body</td>
                <td className="soft">{row.type}</td>
                <td>
                  <BacktickText text={row.description} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}

function Fields({ name, rows }: { readonly name: string; readonly rows: ReturnType<typeof fieldsOf> }) {
  if (rows.length === 0) return <p className="soft">See the example.</p>
  return (
    <Scroll name={name}>
      <table>
        <Columns of={['Field', 'Type', 'Description']} />
        <tbody>
          {rows.map(({ path, type, required, description }) => (
            <tr key={`${path} ${type}`}>
              <td>
                <code>{path}</code>
              </td>
              <td className="soft">
                {type}
                {!required && ', optional'}
              </td>
              <td>
                <BacktickText text={description} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function Failures({ entry }: { readonly entry: Entry }) {
  return (
    <section className="card" aria-labelledby="failures">
      <h2 id="failures">Errors</h2>
      <Scroll name="All errors">
        <table>
          <Columns of={['Status', 'Cause', 'Body']} />
          <tbody>
            {entry.failures.map(({ status, code, summary, value }) => (
              <tr key={`${status} ${code}`}>
                <td className="mono">{status}</td>
                <td>
                  <BacktickText text={summary} />
                  <br />
                  <code className="soft">{code}</code>
                </td>
                <td>
                  <code>{JSON.stringify(value)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}
