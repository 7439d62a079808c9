// The reference: every endpoint as the OpenAPI document tells it, with a form to call it and the call as text.
import { useQuery } from '@tanstack/react-query'
import { groups } from '#api/routes.ts'
import { Answer } from '../parts/answer.tsx'
import { hrefOf, type Place } from '../place.ts'
import { type Document, type Entry, entriesOf } from './reference/document.ts'
import { EndpointPage } from './reference/endpoint-page.tsx'

async function read(): Promise<Document> {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`The OpenAPI document cannot be read (${response.status}).`)
  return response.json()
}

export function Reference({ place }: { readonly place: Place }) {
  const document = useQuery({ queryKey: ['openapi'], queryFn: read, staleTime: Number.POSITIVE_INFINITY })
  return (
    <Answer of={document} waiting="Reading the OpenAPI document…">
      {(found) => {
        const entries = entriesOf(found)
        const chosen = entries.find(({ id }) => id === place.parts[0])
        return chosen ? (
          <EndpointPage key={chosen.id} entry={chosen} document={found} />
        ) : (
          <Index document={found} entries={entries} />
        )
      }}
    </Answer>
  )
}

function Index({ document, entries }: { readonly document: Document; readonly entries: readonly Entry[] }) {
  return (
    <>
      <h1>API reference</h1>
      <p className="lead">
        {document.info.summary} Choose an endpoint to see what it takes and gives, and to try it with your key. The same
        as a document: <a href="/openapi.json">openapi.json</a>.
      </p>
      <p>{document.info.description}</p>
      {groups.map((group) => (
        <section key={group} className="card" aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          <p className="soft">{document.tags.find(({ name }) => name === group)?.description}</p>
          <table>
            <tbody>
              {entries
                .filter((entry) => entry.group === group)
                .map(({ id, method, path, summary, select }) => (
                  <tr key={id}>
                    <td>
                      <a href={hrefOf('reference', [id])}>{id}</a>
                      <br />
                      <span className="soft small">{summary}</span>
                    </td>
                    <td>
                      <code>
                        {method} {path}
                      </code>
                      {select && (
                        <>
                          <br />
                          <code className="soft">
                            module={select.module} action={select.action}
                          </code>
                        </>
                      )}
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  )
}
