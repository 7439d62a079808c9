// One endpoint of the reference: what it takes, what it gives, what can go wrong, and a place to try it.

import { Prose } from '../../parts/backtick-text.tsx'
import { Columns } from '../../parts/columns.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { hrefOf } from '../../route.ts'
import { type Document, type Entry, fieldsOf, typeOf } from './document.ts'
import { TryIt } from './try-it.tsx'

const authLabels = {
  apikey: 'query parameter apikey',
  bearer: 'header authorization: Bearer <key>',
  open: 'none needed',
} as const

export function EndpointPage({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  return (
    <>
      <p className="small">
        <a href={hrefOf('reference')}>All endpoints</a>
      </p>
      <h1>{entry.id}</h1>
      <p className="lead">
        <Prose text={entry.summary} />
      </p>
      <p>
        <Prose text={entry.notes} />
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
            <dt>Chosen by</dt>
            <dd>
              <code>
                module={entry.select.module}&amp;action={entry.select.action}
              </code>
            </dd>
          </>
        )}
        <dt>Key</dt>
        <dd>{authLabels[entry.auth]}</dd>
        <dt>Plan</dt>
        <dd>{entry.plan === 'free' ? 'any' : `${entry.plan} or higher`}</dd>
        {entry.perSecond && (
          <>
            <dt>Limit</dt>
            <dd>{entry.perSecond} calls a second, whatever the plan</dd>
          </>
        )}
      </dl>
      <h2 className="gap">Try it</h2>
      <TryIt entry={entry} />
      <Inputs entry={entry} document={document} />
      <section className="card" aria-labelledby="reply">
        <h2 id="reply">Reply</h2>
        <Fields name="Fields of the reply" rows={fieldsOf(entry.reply, document)} />
        {entry.replyExample !== undefined && (
          <details>
            <summary>An example</summary>
            <pre>{JSON.stringify(entry.replyExample, null, 2)}</pre>
          </details>
        )}
      </section>
      <Failures entry={entry} />
    </>
  )
}

function Inputs({ entry, document }: { readonly entry: Entry; readonly document: Document }) {
  const body = entry.body ? fieldsOf(entry.body, document) : []
  if (entry.parameters.length + body.length === 0) return null
  return (
    <section className="card" aria-labelledby="inputs">
      <h2 id="inputs">Inputs</h2>
      <Scroll name="All inputs">
        <table>
          <Columns of={['Name', 'In', 'Type', 'Meaning']} />
          <tbody>
            {entry.parameters.map((one) => (
              <tr key={one.name}>
                <td>
                  <code>{one.name}</code>
                  {one.required && <span className="badge">needed</span>}
                </td>
                <td>{one.in}</td>
                <td className="soft">
                  {typeOf(one.schema, document)}
                  {one.schema.default !== undefined && <> = {JSON.stringify(one.schema.default)}</>}
                </td>
                <td>
                  <Prose text={one.description} />
                </td>
              </tr>
            ))}
            {body.map((row) => (
              <tr key={row.path}>
                <td>
                  <code>{row.path}</code>
                  {row.required && <span className="badge">needed</span>}
                </td>
                <td>body</td>
                <td className="soft">{row.type}</td>
                <td>
                  <Prose text={row.description} />
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
        <Columns of={['Field', 'Type', 'Meaning']} />
        <tbody>
          {rows.map(({ path, type, required, description }) => (
            <tr key={`${path} ${type}`}>
              <td>
                <code>{path}</code>
              </td>
              <td className="soft">
                {type}
                {!required && ', may be absent'}
              </td>
              <td>
                <Prose text={description} />
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
      <h2 id="failures">What can go wrong</h2>
      <Scroll name="All failures">
        <table>
          <Columns of={['Status', 'When', 'Body']} />
          <tbody>
            {entry.failures.map(({ status, code, summary, value }) => (
              <tr key={`${status} ${code}`}>
                <td className="mono">{status}</td>
                <td>
                  <Prose text={summary} />
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
