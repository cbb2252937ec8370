/** The default theme with the fonts of the system, and more space for tables. */
import "./style.css";

export { default } from "vitepress/theme-without-fonts";
