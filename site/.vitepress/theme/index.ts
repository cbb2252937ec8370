/** The default theme with the fonts of the system, more space for tables and code, and another order of search results. */
import type { Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

/** Weight of the API reference in a search: its entries have the words of a query as names, but explain less. */
const REFERENCE_WEIGHT = 0.3;

/** Shorter words have no misspellings: `pino` would find `ping`. */
const MIN_FUZZY_LENGTH = 6;

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    // Functions in the configuration would be evaluated from text, which the policy of the pages forbids.
    siteData.value.themeConfig.search.options.miniSearch = {
      searchOptions: {
        boostDocument: (address: string) => (address.includes("/reference/") ? REFERENCE_WEIGHT : 1),
        fuzzy: (word: string) => (word.length < MIN_FUZZY_LENGTH ? false : 0.2),
      },
    };
  },
} satisfies Theme;
