// Shown at an address that no page has: the page that was probably meant, and a search for what the address names.
import { findNearestPage } from '../nearest-page.ts'
import { hrefOf, type PageProps } from '../route.ts'
import { openSearch } from '../search/search-button.tsx'

export function NotFound({ route }: PageProps) {
  const nearest = findNearestPage(route)
  // Addresses of other explorers end with what they show: `/address/0x…`.
  const named = route.parts.at(-1) ?? ''
  return (
    <>
      <h1>Page not found</h1>
      <p className="lead">
        No page has the address <code>/{route.parts.join('/')}</code>.
        {nearest !== undefined && (
          <>
            {' '}
            Did you mean <a href={nearest}>{decodeURIComponent(nearest)}</a>?
          </>
        )}
      </p>
      <button type="button" className="find big-find" onClick={() => openSearch(named)}>
        Search for “{named}”
      </button>
      <p className="soft small">
        You can also go to the <a href={hrefOf('home')}>start page</a> or to the <a href="/docs/">documentation</a>.
      </p>
    </>
  )
}
